// Elements, icons, tables and the tooltip. Texts are set as texts, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, entry] of Object.entries(value)) element.style.setProperty(key, entry);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

// Shows `children` and nothing else.
function put(element, ...children) {
  element.replaceChildren();
  return fill(element, null, children);
}

// The outline of a mark of radius `r` around a point.
function outline(shape, x, y, r) {
  const n = (value) => value.toFixed(2);
  const polygon = (points) => `M${points.map(([dx, dy]) => `${n(x + dx * r)} ${n(y + dy * r)}`).join("L")}Z`;
  switch (shape) {
    case "square":
      return polygon([[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]]);
    case "triangle":
      return polygon([[0, -1.15], [1.1, 0.8], [-1.1, 0.8]]);
    case "diamond":
      return polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
    case "cross":
      return `M${n(x - r)} ${n(y - r)}L${n(x + r)} ${n(y + r)}M${n(x - r)} ${n(y + r)}L${n(x + r)} ${n(y - r)}`;
    default:
      return `M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0Z`;
  }
}

// The mark of a plan: colour and shape of its strategy; baselines are crosses, other mappings off the front hollow.
function mark(plan, x, y, r) {
  const { colour, shape } = STRATEGIES[plan.strategy];
  if (plan.kind === "baseline") return svg("path", { d: outline("cross", x, y, r * 0.8), class: "mark baseline" });
  const hollow = plan.kind === "best";
  return svg("path", { d: outline(shape, x, y, r), fill: hollow ? "none" : colour, stroke: hollow ? colour : null, class: "mark" });
}

const icon = (plan) =>
  svg("svg", { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, mark(plan, 8, 8, 5.5));

const swatch = (colour) => h("span", { class: "swatch", style: { background: colour } });
const chip = (processor, point = "") => h("span", { class: "chip" },
  h("span", { class: "bar", style: { background: colourOf(processor) } }), run.processors[processor],
  point ? h("span", { class: "point" }, `@${point}`) : null);

// Stages as chips: processors of a stage joined by a plus, stages by an arrow.
const stageChips = (plan) =>
  h("span", { class: "chips" }, plan.stages.map((stage, index) => [
    index > 0 ? h("span", { class: "soft" }, "→") : null,
    h("span", { class: "stage-chip" }, stage.processors.map((id, place) => [place > 0 ? "+" : null, chip(id, pointOf(plan, id))])),
  ]));

// A list of terms and figures.
const terms = (entries) =>
  h("dl", { class: "terms" }, entries.filter(Boolean).map(([term, value, note]) =>
    h("div", null, h("dt", note ? { title: note } : null, term), h("dd", null, value))));

// A table whose columns sort; `columns` have a `title`, a `key` to sort by and a `cell`.
function sortable(columns, state, redraw) {
  const head = columns.map((entry, index) => {
    const active = state.column === index;
    const label = h("button", {
      type: "button",
      title: entry.note || null,
      onclick: () => {
        state.down = active ? !state.down : Boolean(entry.down);
        state.column = index;
        redraw();
        // The head is drawn anew, and the keyboard stays where it was.
        const again = byId(state.id).querySelectorAll("thead button")[index];
        if (again) again.focus();
      },
    }, h("span", null, entry.title), h("span", { class: "arrow", "aria-hidden": "true" }, active ? (state.down ? "▾" : "▴") : "\u00a0"));
    return h("th", {
      scope: "col",
      class: entry.class || null,
      "aria-sort": active ? (state.down ? "descending" : "ascending") : null,
    }, entry.key ? label : entry.title);
  });
  return h("thead", null, h("tr", null, head));
}

// Rows in the order asked for; ties and rows without a figure keep theirs.
function sorted(rows, columns, state) {
  const entry = columns[state.column];
  if (!entry || !entry.key) return rows;
  const sign = state.down ? -1 : 1;
  const keyed = rows.map((row, index) => ({ row, index, key: entry.key(row) }));
  keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : a.index - b.index));
  return keyed.map(({ row }) => row);
}

const tip = {
  show(event, ...children) {
    const box = byId("tip");
    put(box, children);
    box.hidden = false;
    const { clientWidth, clientHeight } = document.documentElement;
    const { offsetWidth, offsetHeight } = box;
    const left = event.clientX + 14 + offsetWidth > clientWidth ? event.clientX - 14 - offsetWidth : event.clientX + 14;
    const top = event.clientY + 14 + offsetHeight > clientHeight ? event.clientY - 14 - offsetHeight : event.clientY + 14;
    box.style.left = `${Math.max(4, Math.min(left, clientWidth - offsetWidth - 4))}px`;
    box.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};
