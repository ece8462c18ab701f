// The front: a chart and a table of the same plans.

const AXES = {
  latency: { title: "Latency", kind: "time", of: (plan) => plan.latency, lower: true },
  throughput: { title: "Throughput", unit: "frames/s", of: throughput, lower: false },
  energy: { title: "Active energy a frame", kind: "energy", of: (plan) => plan.active, lower: true },
};
const VIEWS = [
  ["latency", "throughput", "Latency and throughput"],
  ["latency", "energy", "Latency and energy"],
  ["energy", "throughput", "Energy and throughput"],
];
// What is worse than the worst plan of the front by more than this factor stands at the edge, so that it does not squeeze the rest.
const FAR = 1.35;

const front = { view: 0, table: { id: "plans", column: -1, down: false }, order: [] };

function drawFront() {
  const figure = byId("front");
  if (figure.childElementCount === 0) {
    const choice = h("div", { class: "choice", role: "group", "aria-label": "Axes" }, VIEWS.map(([, , title], index) =>
      h("button", { type: "button", "aria-pressed": String(index === front.view), onclick: () => {
        front.view = index;
        choice.querySelectorAll("button").forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
        drawChart();
      } }, title)));
    const chart = svg("svg", { id: "chart", role: "radiogroup", "aria-label": "Plans by their figures; arrow keys choose one" });
    chart.addEventListener("pointermove", (event) => hoverPlan(event));
    chart.addEventListener("pointerleave", () => tip.hide());
    chart.addEventListener("click", (event) => {
      const near = nearest(event);
      if (near) select(near.place);
    });
    chart.addEventListener("keydown", chooseByKey);
    figure.append(choice, chart, legend());
    new ResizeObserver(() => drawChart()).observe(figure);
  }
  drawChart();
}

function legend() {
  const used = new Set(run.plans.map((plan) => plan.strategy));
  const sample = (strategy, kind) => icon({ strategy, kind });
  const kinds = new Set(run.plans.map((plan) => plan.kind));
  return h("figcaption", { class: "legend" },
    Object.keys(STRATEGIES).filter((strategy) => used.has(strategy)).map((strategy) => h("span", null, sample(strategy, "front"), strategy)),
    kinds.has("best") ? h("span", null, sample([...run.plans].find((plan) => plan.kind === "best").strategy, "best"), "best of its shape, off the front") : null,
    kinds.has("baseline") ? h("span", null, sample("single", "baseline"), "baseline") : null,
    h("span", null, svg("svg", { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, svg("circle", { cx: 8, cy: 8, r: 6, class: "halo" })), "recommended"));
}

// Plans that no other plan of the front beats in the two figures that are drawn, from left to right.
function staircase(x, y) {
  const plans = run.plans.filter((plan) => plan.kind === "front");
  const better = (axis, a, b) => (axis.lower ? a < b : a > b);
  const kept = plans.filter((plan) => !plans.some((other) => {
    const [ax, ay, bx, by] = [x.of(other), y.of(other), x.of(plan), y.of(plan)];
    return !better(x, bx, ax) && !better(y, by, ay) && (better(x, ax, bx) || better(y, ay, by));
  }));
  return kept.sort((a, b) => x.of(a) - x.of(b) || y.of(a) - y.of(b));
}

function drawChart() {
  const chart = byId("chart");
  const width = Math.max(280, Math.floor(byId("front").clientWidth));
  const height = Math.round(Math.max(300, Math.min(460, width * 0.62)));
  const area = { left: 56, right: width - 16, top: 26, bottom: height - 46 };
  const [x, y] = VIEWS[front.view].slice(0, 2).map((name) => AXES[name]);
  const own = run.plans.filter((plan) => plan.kind === "front");
  const isNear = (axis) => (plan) => {
    const values = own.map(axis.of);
    return axis.lower ? axis.of(plan) <= FAR * Math.max(...values) : axis.of(plan) * FAR >= Math.min(...values);
  };
  const near = run.plans.filter((plan) => plan.kind === "front" || (isNear(x)(plan) && isNear(y)(plan)));
  const scales = [
    scaleAround(near.map(x.of), area.left, area.right, 0.07),
    scaleAround(near.map(y.of), area.bottom, area.top, 0.09),
  ];
  chart.setAttribute("viewBox", `0 0 ${width} ${height}`);
  chart.setAttribute("width", width);
  chart.setAttribute("height", height);
  const nodes = [...axes(scales, [x, y], area, width, height)];

  const steps = staircase(x, y).map((plan) => [scales[0].at(x.of(plan)), scales[1].at(y.of(plan))]);
  const path = steps.map(([px, py], index) => (index === 0 ? `M${px} ${py}` : `H${px}V${py}`)).join("");
  nodes.push(svg("path", { d: path, class: "staircase" }));

  const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
  front.points = run.plans.map((plan, place) => {
    const [px, py] = [scales[0].at(x.of(plan)), scales[1].at(y.of(plan))];
    // A step inwards leaves room for the arrow that says so.
    const [cx, cy] = [clamp(px, area.left + 16, area.right - 16), clamp(py, area.top + 16, area.bottom - 16)];
    return { plan, place, x: cx, y: cy, off: Math.hypot(px - cx, py - cy) > 17, dx: Math.sign(px - cx), dy: Math.sign(py - cy) };
  });
  front.order = [...front.points].sort((a, b) => x.of(a.plan) - x.of(b.plan) || a.place - b.place).map(({ place }) => place);
  // What is drawn last lies on top.
  const rank = ({ plan, place }) => (place === state.plan ? 3 : place === run.recommended ? 2 : plan.kind === "front" ? 1 : 0);
  const ordered = [...front.points].sort((a, b) => rank(a) - rank(b));
  for (const point of ordered) nodes.push(pointMark(point));
  nodes.push(...pointLabels(area));
  const active = document.activeElement;
  const hadFocus = active && chart.contains(active);
  chart.replaceChildren(...nodes);
  if (hadFocus) focusPoint();
}

function axes([sx, sy], [x, y], area, width, height) {
  const nodes = [];
  const labelled = (axis, scale) => {
    const [unit, size] = axis.kind ? unitFor(axis.kind, scale.high, 10) : [axis.unit, 1];
    return { unit, size };
  };
  const [ux, uy] = [labelled(x, sx), labelled(y, sy)];
  const tx = ticksOf(sx.low / ux.size, sx.high / ux.size, width / 95);
  const ty = ticksOf(sy.low / uy.size, sy.high / uy.size, height / 62);
  for (const tick of tx.ticks) {
    const px = sx.at(tick * ux.size);
    nodes.push(svg("line", { x1: px, x2: px, y1: area.top, y2: area.bottom, class: "grid" }));
    nodes.push(svg("text", { x: px, y: area.bottom + 17, class: "tick", "text-anchor": "middle" }, tick.toFixed(tx.decimals)));
  }
  for (const tick of ty.ticks) {
    const py = sy.at(tick * uy.size);
    nodes.push(svg("line", { x1: area.left, x2: area.right, y1: py, y2: py, class: "grid" }));
    nodes.push(svg("text", { x: area.left - 8, y: py + 4, class: "tick", "text-anchor": "end" }, tick.toFixed(ty.decimals)));
  }
  const hint = (axis, arrows) => `${axis.title} (${axis === x ? ux.unit : uy.unit}), ${axis.lower ? "less" : "more"} is better ${arrows[axis.lower ? 0 : 1]}`;
  nodes.push(svg("text", { x: area.right, y: height - 10, class: "axis", "text-anchor": "end" }, hint(x, ["←", "→"])));
  nodes.push(svg("text", { x: 4, y: 14, class: "axis" }, hint(y, ["↓", "↑"])));
  nodes.push(svg("path", { d: `M${area.left} ${area.top}V${area.bottom}H${area.right}`, class: "frame" }));
  return nodes;
}

function pointMark(point) {
  const { plan, place, x, y, off, dx, dy } = point;
  const chosen = place === state.plan;
  return svg("g", {
    class: `point${chosen ? " chosen" : ""}`,
    role: "radio",
    tabindex: chosen ? 0 : -1,
    "aria-checked": String(chosen),
    "aria-label": `${titleOf(plan)}, ${plan.strategy}, ${stagesOf(plan)}: latency ${showTime(plan.latency)}, ${showRate(throughput(plan))}, ${showEnergy(plan.active)} a frame`,
    "data-plan": plan.id,
  },
  place === run.recommended ? svg("circle", { cx: x, cy: y, r: 11, class: "halo" }) : null,
  chosen ? svg("circle", { cx: x, cy: y, r: 14, class: "ring" }) : null,
  mark(plan, x, y, 6),
  off ? svg("path", { d: `M${x + dx * 9 - dy * 4} ${y + dy * 9 + dx * 4}L${x + dx * 13} ${y + dy * 13}L${x + dx * 9 + dy * 4} ${y + dy * 9 - dx * 4}`, class: "beyond" }) : null);
}

function pointLabels(area) {
  const few = run.plans.filter((plan) => plan.kind === "front").length <= 12;
  const weight = ({ plan, place }) =>
    place === state.plan ? 0 : place === run.recommended ? 1 : plan.labels.length > 0 ? 2 : plan.kind === "baseline" ? 3 : 4;
  const labels = front.points
    .filter((point) => few || weight(point) < 4)
    .sort((a, b) => weight(a) - weight(b) || a.place - b.place)
    .map((point) => ({ ...point, r: point.place === state.plan ? 14 : point.place === run.recommended ? 11 : 7, text: clip(point.plan.id.replace(/^0+(?=\d)/, ""), 22) }));
  const marks = front.points.map((point) => ({ x: point.x, y: point.y, r: point.place === state.plan ? 13 : 7 }));
  return placeLabels(labels, marks, area, 12).map((label) =>
    svg("text", { x: label.left, y: label.middle + 4, class: `label${label.place === state.plan ? " strong" : ""}` }, label.text));
}

// The end of a path-like name, which tells operators apart.
const shortened = (text, most) => (text.length > most ? `…${text.slice(1 - most)}` : text);
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function nearest(event) {
  const box = byId("chart").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  let best = null;
  for (const point of front.points || []) {
    const distance = Math.hypot(point.x - x, point.y - y);
    if (distance < 26 && (!best || distance < best.distance)) best = { ...point, distance };
  }
  return best;
}

function hoverPlan(event) {
  const near = nearest(event);
  byId("chart").classList.toggle("over", Boolean(near));
  if (!near) {
    tip.hide();
    return;
  }
  const { plan } = near;
  tip.show(event, h("strong", null, icon(plan), " ", titleOf(plan)),
    h("div", null, `${plan.strategy}: ${stagesOf(plan)}`),
    plan.labels.length > 0 ? h("div", { class: "soft" }, plan.labels.join(", ")) : null,
    terms([
      ["Latency", showTime(plan.latency)],
      ["Throughput", showRate(throughput(plan))],
      ["Active energy", `${showEnergy(plan.active)} a frame`],
      ["Gap", showGap(gapOf(plan.proof))],
    ]));
}

function focusPoint() {
  const point = [...byId("chart").querySelectorAll(".point")].find((element) => element.getAttribute("aria-checked") === "true");
  if (point) point.focus({ preventScroll: true });
}

function chooseByKey(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const at = front.order.indexOf(state.plan);
  let next = null;
  if (step) next = front.order[(at + step + front.order.length) % front.order.length];
  else if (event.key === "Home") next = front.order[0];
  else if (event.key === "End") next = front.order[front.order.length - 1];
  if (next === null) return;
  event.preventDefault();
  select(next);
  focusPoint();
}

function drawPlans() {
  const figures = (of, kind) => column(kind, run.plans.map(of));
  const latency = figures((plan) => Math.max(plan.latency, plan.paced, plan.saturated), "time");
  const energy = figures((plan) => plan.active, "energy");
  const rate = figures(throughput, "rate");
  const shapes = run.plans.map((plan) => stagesOf(plan));
  // Where a plan is cut tells it from others with the same stages.
  const stagesCell = (plan) => {
    const cuts = cutsOf(plan);
    const twins = shapes.filter((shape) => shape === stagesOf(plan)).length;
    const title = cuts.map((name, index) => `Stage ${index + 2} begins with ${name}`).join("\n");
    return h("div", { title: title || null }, stageChips(plan),
      cuts.length > 0 && twins > 1 ? h("div", { class: "cut soft" }, "cut before ", cuts.map((name, index) => [index > 0 ? ", " : null, h("span", { class: "phrase" }, shortened(name, 20))])) : null);
  };
  const columns = [
    { title: "Plan", key: (plan) => run.plans.indexOf(plan), cell: (plan) => [
      h("a", { href: `#plan=${encodeURIComponent(plan.id)}` }, icon(plan), h("span", null, clip(plan.id, 40))),
      h("div", { class: "narrow soft" }, stagesOf(plan)),
    ] },
    { title: "Strategy", key: (plan) => plan.strategy, class: "wider", cell: (plan) => plan.strategy },
    { title: "Stages", class: "wider", key: stagesOf, cell: stagesCell },
    { title: `Latency (${latency.unit})`, class: "number", note: "One frame through an empty pipeline", key: (plan) => plan.latency, cell: (plan) => latency.show(plan.latency) },
    { title: `Paced (${latency.unit})`, class: "number wider", note: "Latency while a frame enters every interval", key: (plan) => plan.paced, cell: (plan) => latency.show(plan.paced) },
    { title: `In stream (${latency.unit})`, class: "number wider", note: "Latency of the 50th frame while frames enter as fast as they can", key: (plan) => plan.saturated, cell: (plan) => latency.show(plan.saturated) },
    { title: "Frames/s", class: "number", down: true, key: throughput, cell: (plan) => rate.show(throughput(plan)) },
    { title: `Energy (${energy.unit})`, class: "number", note: "Active energy a frame: the processors in use", key: (plan) => plan.active, cell: (plan) => energy.show(plan.active) },
    { title: "Gap", class: "number wider", note: "How far the latency can be above the least possible for these stages and processors", key: (plan) => gapOf(plan.proof), cell: (plan) => showGap(gapOf(plan.proof)) },
    { title: "Best at", class: "wider", key: (plan) => (plan.labels.length > 0 ? plan.labels.join(", ") : "~"), cell: (plan) => plan.id.startsWith("twin:") ? `plan ${plan.id.slice(5)} at the run's own points` : plan.kind === "baseline" ? "baseline" : plan.kind === "best" ? "best of its shape" : [
      run.plans.indexOf(plan) === run.recommended ? [h("span", { class: "tag" }, "recommended"), " "] : null,
      plan.labels.map((label, index) => [h("span", { class: "phrase" }, label, index < plan.labels.length - 1 ? "," : ""), " "]),
    ] },
  ];
  const redraw = () => drawPlans();
  const rows = sorted(run.plans, columns, front.table).map((plan) => {
    const place = run.plans.indexOf(plan);
    return h("tr", {
      class: plan.kind,
      "data-plan": plan.id,
      "aria-selected": String(place === state.plan),
      onclick: () => select(place),
    }, columns.map((entry) => h("td", { class: entry.class || null }, entry.cell(plan))));
  });
  put(byId("plans"), h("table", null, sortable(columns, front.table, redraw), h("tbody", null, rows)));
}

function markPlans() {
  for (const row of byId("plans").querySelectorAll("tbody tr")) {
    row.setAttribute("aria-selected", String(row.getAttribute("data-plan") === run.plans[state.plan].id));
  }
}
