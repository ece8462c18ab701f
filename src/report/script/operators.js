// The list of tasks and moves of the selected plan.

// A page of thousands of rows is slow to draw and nobody reads it whole.
const FIRST_ROWS = 250;

const list = { id: "operators", column: -1, down: false, text: "", class: "", place: "", critical: false, all: false };

function drawOperators() {
  const box = byId("operators");
  const detail = detailOf(state.plan);
  if (!detail) {
    put(box);
    return;
  }
  const items = [...detail.tasks, ...detail.moves].sort((a, b) => a.start - b.start || a.end - b.end);
  const options = (name, values, label) => h("select", { "aria-label": label, "data-filter": name, onchange: (event) => {
    list[name] = event.target.value;
    drawRows(items);
  } }, h("option", { value: "" }, label), values.map((value) => h("option", { value, selected: list[name] === value }, value)));
  const values = (key) => [...new Set(items.map((item) => item[key]))].filter(Boolean).sort();
  const [classes, places] = [values("class"), values("place")];
  // A filter that nothing of this plan fits would hide everything.
  if (!classes.includes(list.class)) list.class = "";
  if (!places.includes(list.place)) list.place = "";
  list.all = false;
  put(box,
    h("div", { class: "tools" },
      h("input", { type: "search", id: "filter", placeholder: "Filter by name", "aria-label": "Filter by name", value: list.text, oninput: (event) => {
        list.text = event.target.value;
        drawRows(items);
      } }),
      options("class", classes, "All classes"),
      options("place", places, "All places"),
      h("label", null, h("input", { type: "checkbox", id: "only-critical", checked: list.critical, onchange: (event) => {
        list.critical = event.target.checked;
        drawRows(items);
      } }), "Critical path only"),
      h("span", { id: "sum", class: "soft", "aria-live": "polite" })),
    h("div", { class: "wide", id: "rows" }));
  drawRows(items);
}

function drawRows(items) {
  const wanted = list.text.toLowerCase();
  const rows = items.filter((item) =>
    (!list.class || item.class === list.class || item.members.some((member) => member.class === list.class)) &&
    (!list.place || item.place === list.place) &&
    (!list.critical || item.critical) &&
    (!wanted || item.name.toLowerCase().includes(wanted) || item.members.some((member) => member.name.toLowerCase().includes(wanted))));
  const time = column("time", items.map((item) => item.time));
  const start = column("time", items.map((item) => item.end));
  const energy = column("energy", items.map((item) => item.energy));
  const known = run.operators.class.length > 0;
  const columns = [
    { title: "Operator", key: (item) => item.name, cell: (item) => h("button", { type: "button", class: "operator", onclick: () => pick(item, true) },
      shortName(item.name) || "(no name)", item.members.length > 1 ? h("span", { class: "soft" }, ` + ${item.members.slice(1).map((member) => lastPart(member.name)).join(", ")}`) : null) },
    known ? { title: "Class", class: "wider", key: (item) => item.class, cell: (item) => item.class } : { title: "Kind", class: "wider", key: (item) => item.kind, cell: (item) => item.kind },
    { title: "Node", class: "number wider", note: "Index of the first operator in the model file", key: (item) => item.node, cell: (item) => (item.node >= 0 ? String(item.node) : "") },
    { title: "Where", key: (item) => item.place, cell: (item) => (item.kind === "task" ? chip(item.processor) : h("span", { class: "chip" }, swatch("var(--move)"), item.place)) },
    { title: "Stage", class: "number wider", key: (item) => item.stage, cell: (item) => String(item.stage + 1) },
    { title: `Start (${start.unit})`, class: "number wider", note: "From the admission of the frame", key: (item) => item.start, cell: (item) => start.show(item.start) },
    { title: `Time (${time.unit})`, class: "number", down: true, key: (item) => item.time, cell: (item) => time.show(item.time) },
    { title: `Energy (${energy.unit})`, class: "number wider", down: true, key: (item) => item.energy, cell: (item) => energy.show(item.energy) },
    known ? { title: "Source", class: "wider", note: "Where the predicted time comes from", key: (item) => item.source, cell: (item) => item.source } : null,
    { title: "Critical", class: "middle wider", down: true, key: (item) => (item.critical ? 1 : 0), cell: (item) => (item.critical ? h("span", { title: `waited last for ${item.waited}` }, "●") : "") },
  ].filter(Boolean);
  const ordered = sorted(rows, columns, list);
  const shown = list.all ? ordered : ordered.slice(0, FIRST_ROWS);
  const body = shown.map((item) => h("tr", { "data-item": `${item.kind} ${item.id}`, "aria-selected": String(item === gantt.picked) },
    columns.map((entry) => h("td", { class: entry.class || null }, entry.cell(item)))));
  const sum = (key) => rows.reduce((total, item) => total + item[key], 0);
  byId("sum").textContent = `${rows.length} of ${items.length}; ${showTime(sum("time"))}, ${showEnergy(sum("energy"))}`;
  put(byId("rows"),
    h("table", null, sortable(columns, list, () => drawRows(items)), h("tbody", null, body)),
    shown.length < ordered.length ? h("button", { type: "button", class: "more", onclick: () => {
      list.all = true;
      drawRows(items);
    } }, `Show all ${ordered.length}`) : null);
}

function markOperators(item, scroll) {
  for (const row of byId("operators").querySelectorAll("tbody tr")) {
    const chosen = item !== null && row.getAttribute("data-item") === `${item.kind} ${item.id}`;
    row.setAttribute("aria-selected", String(chosen));
    if (chosen && scroll) {
      // The list scrolls, the page stays where it is.
      const box = byId("rows");
      box.scrollTop = row.offsetTop - box.clientHeight / 2;
    }
  }
}
