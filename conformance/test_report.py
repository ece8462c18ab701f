"""The HTML report in a browser without a network.

A click, a key and an address select a plan, and everything on the page follows; names from hostile models stay names.
With REPORT_PICTURES=DIR, pictures of the pages are left there for people to look at.
"""

import json
import os
import pathlib
import shutil

import onnx
import pytest
from conftest import ROOT, paracompile
from onnx import TensorProto, helper
from playwright.sync_api import sync_playwright

MODELS = ROOT / "models"
PICTURES = os.environ.get("REPORT_PICTURES")
HOSTILE = "</script><img src=x onerror=\"window.broken=1\">'&\u2028<!-- é"
WIDTHS = {"desk": 1400, "narrow": 1024, "phone": 390}


@pytest.fixture(scope="session")
def browser():
    names = ["chromium", "chromium-browser", "google-chrome"]
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    assert program, "no browser: scripts/install-build-dependencies.sh python installs chromium"
    # A sandbox inside a container or for root is refused by the kernel.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens a report; at the end nothing else was asked for, and the console is empty."""
    said, asked, contexts = [], [], []

    def open_page(path, anchor="", width=1400, dark=False):
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url.split("#")[0]))
        page.goto(path.as_uri() + anchor)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert asked and all(url.startswith("file:") and url.endswith("/report.html") for url in asked), asked
    assert len(asked) == len(contexts), asked


@pytest.fixture(scope="session")
def report(mapped):
    """The page of a committed network, and its front."""

    def of(name):
        directory = mapped(MODELS / f"{name}.onnx")
        return directory / "report.html", json.loads((directory / "front.json").read_text())

    return of


def selected(page):
    """What each part of the page says is selected."""
    return {
        "chart": page.get_attribute("#chart .point[aria-checked=true]", "data-plan"),
        "table": page.get_attribute("#plans tr[aria-selected=true]", "data-plan"),
        "card": page.inner_text("#card .name").removeprefix("Plan "),
        "bar": page.eval_on_selector("#bar select", "s => s.options[s.selectedIndex].text").split(": ")[0].removeprefix("Plan "),
        "address": page.evaluate("decodeURIComponent(location.hash)").removeprefix("#plan="),
    }


def is_selected(page, plan):
    page.wait_for_function("id => document.querySelector('#plans tr[aria-selected=true]').dataset.plan === id", arg=plan)
    assert set(selected(page).values()) == {plan}


def parts(page):
    """What belongs to the selected plan."""
    return {
        "gantt": page.inner_html("#chart-time"),
        "stages": page.inner_text("#stages"),
        "operators": page.inner_text("#rows"),
        "why": page.inner_text("#why"),
    }


def other_plan(front):
    """A plan on the front with other stages than the recommended one, and its name on the page."""
    recommended = next(plan for plan in front["plans"] if plan["file"] == front["recommended"])
    stages = lambda plan: [stage["processors"] for stage in plan["stages"]]
    place = next(i for i, plan in enumerate(front["plans"]) if stages(plan) != stages(recommended))
    return front["plans"][place], f"{place + 1:02}"


def keep(page, name):
    if PICTURES:
        pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{PICTURES}/{name}.png", full_page=True)


def test_the_recommended_plan_is_shown_first_and_says_why(visit, report):
    path, front = report("googlenet")
    assert path.stat().st_size < 1_000_000
    page = visit(path)
    place = [plan["file"] for plan in front["plans"]].index(front["recommended"])
    is_selected(page, f"{place + 1:02}")
    assert front["why"].split("`")[0].strip() in page.inner_text("#why")
    assert page.locator("#plans tbody tr").count() >= len(front["plans"]) + len(front["baselines"])
    assert page.locator("#chart .point").count() == page.locator("#plans tbody tr").count()


def test_a_click_on_a_point_changes_everything(visit, report):
    path, front = report("googlenet")
    page = visit(path)
    before = parts(page)
    plan, name = other_plan(front)
    page.locator(f'#chart .point[data-plan="{name}"]').click()
    is_selected(page, name)
    after = parts(page)
    assert all(before[part] != after[part] for part in before), [part for part in before if before[part] == after[part]]
    assert page.locator("#stages .stage").count() == len(plan["stages"])
    detail = json.loads((path.parent / plan["file"]).read_text())
    assert page.inner_text("#sum").startswith(f"{len(detail['tasks']) + len(detail['transfers'])} of ")
    # A row does the same, and so does the list in the bar.
    page.locator('#plans tr[data-plan="heft"] td').nth(1).click()
    is_selected(page, "heft")
    page.select_option("#bar select", index=0)
    is_selected(page, "01")


def test_keys_and_addresses_select(visit, report):
    path, front = report("googlenet")
    page = visit(path, "#plan=04")
    is_selected(page, "04")
    page.locator('#chart .point[aria-checked="true"]').focus()
    page.keyboard.press("Home")
    is_selected(page, "01")
    page.keyboard.press("ArrowRight")
    assert selected(page)["chart"] != "01"
    page.keyboard.press("ArrowLeft")
    is_selected(page, "01")
    page.locator('#plans a[href="#plan=03"]').focus()
    page.keyboard.press("Enter")
    is_selected(page, "03")
    page.evaluate("location.hash = '#plan=single%3Agpu'")
    is_selected(page, "single:gpu")
    # What no plan is called changes nothing.
    page.evaluate("location.hash = '#plan=%E0%A4%A'")
    assert page.get_attribute("#plans tr[aria-selected=true]", "data-plan") == "single:gpu"


def test_tables_sort_and_filter(visit, report):
    path, _ = report("googlenet")
    page = visit(path)
    energy = lambda: [float(text) for text in page.locator("#plans tbody td:nth-child(8)").all_inner_texts()]
    page.get_by_role("button", name="Energy (mJ)").first.click()
    assert energy() == sorted(energy())
    page.get_by_role("button", name="Energy (mJ)").first.click()
    assert energy() == sorted(energy(), reverse=True)

    times = lambda: [float(text) for text in page.locator("#rows tbody td:nth-child(7)").all_inner_texts()]
    page.locator("#rows").get_by_role("button", name="Time (").click()
    assert times() == sorted(times(), reverse=True)
    rows = page.locator("#rows tbody tr")
    everything = rows.count()
    page.fill("#filter", "INCEPTION3A")
    assert 0 < rows.count() < everything
    assert all("inception3a" in text for text in rows.all_inner_texts())
    page.select_option("[data-filter=class]", "max_pool")
    assert 0 < rows.count() < everything
    assert all("max_pool" in text for text in rows.all_inner_texts())
    page.fill("#filter", "")
    page.select_option("[data-filter=class]", "")
    page.check("#only-critical")
    assert 0 < rows.count() < everything


def test_the_timeline_zooms_moves_and_explains(visit, report):
    path, _ = report("inception_v4")
    page = visit(path)
    chart = page.locator("#chart-time")
    ticks = lambda: ",".join(page.locator("#chart-time .tick").all_text_contents())
    drawn = "[...document.querySelectorAll('#chart-time .tick')].map(tick => tick.textContent).join()"
    whole = ticks()
    page.click("button[title='Zoom in']")
    page.wait_for_function(f"old => {drawn} !== old", arg=whole)
    near = ticks()
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 700, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 20, steps=4)
    page.mouse.up()
    page.wait_for_function(f"old => {drawn} !== old", arg=near)
    page.click("text=Show all")
    page.wait_for_function(f"old => {drawn} === old", arg=whole)

    task = page.locator("#chart-time .task.own.edged").first.bounding_box()
    middle = (task["x"] + task["width"] / 2, task["y"] + task["height"] / 2)
    page.mouse.move(*middle)
    tip = page.locator("#tip")
    assert tip.is_visible()
    for word in ["Processor", "Class", "Source", "Waits for", "of frame f"]:
        assert word in tip.inner_text(), word
    page.mouse.click(*middle)
    assert "Processor" in page.inner_text("#picked")
    assert page.locator("#rows tr[aria-selected=true]").count() == 1
    page.locator("#rows button.operator").nth(3).click()
    assert page.locator("#chart-time .picked").count() == 1
    assert page.locator("#chart-time .critical").get_attribute("d")
    page.uncheck("#links")
    assert page.locator("#chart-time .critical").count() == 0


@pytest.mark.parametrize("name", ["googlenet", "inception_v4", "bert_base"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(visit, report, name, width):
    path, _ = report(name)
    for dark in [False, True]:
        page = visit(path, width=WIDTHS[width], dark=dark)
        keep(page, f"{name}-{width}-{'dark' if dark else 'light'}")
        for view in ["Latency and energy", "Energy and throughput", "Latency and throughput"]:
            page.click(f"text={view}")
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over <= 0, f"{over} pixels too wide"
            tables = "[...document.querySelectorAll('.wide')].filter(box => box.scrollWidth > box.clientWidth + 1).length"
            assert page.evaluate(tables) == 0, "a table has to be scrolled sideways"
            outside = page.evaluate(
                """() => {
                    const cut = [];
                    for (const chart of document.querySelectorAll('#chart, #chart-time')) {
                        const box = chart.getBoundingClientRect();
                        for (const text of chart.querySelectorAll('text')) {
                            const own = text.getBoundingClientRect();
                            const inClip = text.closest('[clip-path]');
                            if (!inClip && (own.left < box.left - 1 || own.right > box.right + 1 || own.top < box.top - 1 || own.bottom > box.bottom + 1))
                                cut.push(text.textContent);
                        }
                    }
                    return cut;
                }"""
            )
            assert outside == []


def hostile_model(path):
    """A chain of operators whose every name tries to break out."""
    long = "x" * 10_000
    names = [f"{HOSTILE}{index}{long if index == 1 else ''}" for index in range(4)]
    nodes = [helper.make_node("Sigmoid", [before], [after], name=HOSTILE) for before, after in zip(names, names[1:])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 64, 64, 64]) for name in (names[0], names[-1])]
    graph = helper.make_graph(nodes, HOSTILE, ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def test_hostile_names_stay_names(visit, tmp_path):
    model = tmp_path / "a&b <i>'c'.onnx"
    hostile_model(model)
    out = tmp_path / "out"
    paracompile(model, "--soc", "vim3", "--out", out, "--no-plots", "--quiet")
    page = visit(out / "report.html")
    assert page.inner_text("h1") == "a&b <i>'c' on vim3"
    assert page.evaluate("window.broken") is None
    assert page.locator("img").count() == 0
    assert "onerror" in page.inner_text("#rows")
    page.locator("#rows button.operator").first.click()
    assert "onerror" in page.inner_text("#picked")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    keep(page, "hostile")
