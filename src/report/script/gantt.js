// The plan in time: a frame is admitted every interval, and starts in each stage when the stages before have had it.
// A paced pipeline never waits, so that every frame runs like the one that is drawn in full colour, some intervals earlier or later.

const LANE = 30;
const STAGE = 18;
const MOVE = 9;
const HEAD = 26;
const MOST_ROWS = 4;

const gantt = { detail: null, view: [0, 1], span: 1, picked: null, links: true, pointers: new Map(), drag: null };

function drawGantt() {
  const box = byId("gantt");
  const plan = run.plans[state.plan];
  const detail = detailOf(state.plan);
  gantt.detail = detail;
  gantt.picked = null;
  if (!detail) {
    put(box, h("p", { class: "note" }, "The page would be too large with the tasks of this plan; its plan file has them."));
    return;
  }
  gantt.span = Math.max(detail.passage, 2 * plan.interval, 1) * 1.02;
  gantt.view = [0, gantt.span];
  gantt.lanes = layLanes(plan, detail);
  gantt.shortest = Math.max(1, Math.min(...detail.tasks.map((task) => task.time).filter((time) => time > 0), gantt.span / 10));
  if (!byId("chart-time")) buildGantt(box);
  byId("gantt-about").textContent = plan.stages.length > 1
    ? `Frames enter every ${showTime(plan.interval)} and take ${showTime(detail.passage)}. Frame f is in full colour; those before and behind it are pale.`
    : `Frames follow each other every ${showTime(plan.interval)}. Frame f is in full colour; the next one is pale.`;
  showPicked(null);
  paintGantt();
}

function buildGantt(box) {
  const button = (text, title, act) => h("button", { type: "button", title, "aria-label": title, onclick: act }, text);
  const chart = svg("svg", {
    id: "chart-time",
    tabindex: 0,
    role: "img",
    "aria-label": "Tasks and moves over time; plus and minus zoom, arrows move, 0 shows all. The operator list has the same figures.",
  });
  chart.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey && document.activeElement !== chart) return;
    event.preventDefault();
    if (event.shiftKey && !event.ctrlKey) shift(((event.deltaY || event.deltaX) / 600) * width());
    else zoom(Math.exp(event.deltaY / 300), timeAt(event));
  }, { passive: false });
  chart.addEventListener("pointerdown", startDrag);
  chart.addEventListener("pointermove", moveOver);
  chart.addEventListener("pointerup", endDrag);
  chart.addEventListener("pointercancel", endDrag);
  chart.addEventListener("pointerleave", () => tip.hide());
  chart.addEventListener("keydown", (event) => {
    const act = {
      "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1 / 0.7), "0": showAll,
      ArrowLeft: () => shift(-0.15 * width()), ArrowRight: () => shift(0.15 * width()),
    }[event.key];
    if (act && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      act();
    }
  });
  put(box,
    h("p", { id: "gantt-about", class: "soft" }),
    h("div", { class: "tools" },
      button("−", "Zoom out", () => zoom(1 / 0.6)), button("+", "Zoom in", () => zoom(0.6)),
      button("◂", "Earlier", () => shift(-0.3 * width())), button("▸", "Later", () => shift(0.3 * width())),
      button("Show all", "Show the whole frame", showAll),
      h("label", null, h("input", { type: "checkbox", id: "links", checked: true, onchange: (event) => {
        gantt.links = event.target.checked;
        paintGantt();
      } }), "Critical path"),
      h("span", { class: "soft hint" }, "Drag to move, Ctrl and wheel to zoom, click a task to keep it")),
    chart,
    h("div", { id: "picked", "aria-live": "polite" }));
  new ResizeObserver(() => paintGantt()).observe(box);
}

const width = () => gantt.view[1] - gantt.view[0];

function setView(from, to) {
  const length = Math.max(gantt.shortest * 3, Math.min(to - from, gantt.span * 3));
  const middle = (from + to) / 2;
  const start = Math.max(-gantt.span, Math.min(middle - length / 2, 2 * gantt.span - length));
  gantt.view = [start, start + length];
  requestPaint();
}
const zoom = (factor, around = (gantt.view[0] + gantt.view[1]) / 2) =>
  setView(around - (around - gantt.view[0]) * factor, around + (gantt.view[1] - around) * factor);
const shift = (by) => setView(gantt.view[0] + by, gantt.view[1] + by);
const showAll = () => setView(0, gantt.span);

let painting = 0;
function requestPaint() {
  if (!painting) painting = requestAnimationFrame(() => {
    painting = 0;
    paintGantt();
  });
}

// Where everything is from top to bottom.
function layLanes(plan, detail) {
  const lanes = { stages: [], queues: [], ways: [], height: 0 };
  let y = HEAD + 4;
  plan.stages.forEach((stage, index) => {
    lanes.stages.push({ y, name: `stage ${index + 1}` });
    y += STAGE + 3;
  });
  y += 8;
  detail.queues.forEach((processor, lane) => {
    const twins = detail.queues.filter((other) => other === processor).length;
    const number = detail.queues.slice(0, lane + 1).filter((other) => other === processor).length;
    const place = spotOf(plan, processor);
    const name = twins > 1 ? `${place} #${number}` : place;
    lanes.queues.push({ y, name, processor, tasks: detail.tasks.filter((task) => task.lane === lane) });
    y += LANE + 5;
  });
  y += 5;
  const ways = new Map();
  for (const move of detail.moves) {
    if (!ways.has(move.place)) ways.set(move.place, []);
    ways.get(move.place).push(move);
  }
  for (const [name, moves] of ways) {
    // Moves that overlap get rows of their own, up to so many; the others share the last.
    const free = [];
    for (const move of [...moves].sort((a, b) => a.start - b.start || a.id - b.id)) {
      let row = free.findIndex((end) => end <= move.start);
      if (row < 0) row = Math.min(free.length, MOST_ROWS - 1);
      free[row] = Math.max(free[row] || 0, move.end);
      move.row = row;
    }
    lanes.ways.push({ y, name, moves });
    for (const move of moves) move.y = y + move.row * MOVE;
    y += Math.max(15, free.length * MOVE) + 5;
  }
  lanes.height = y + 4;
  return lanes;
}

// Frames that touch the view, frame f last, so that it lies on top.
function framesInView(plan) {
  if (!(plan.interval > 0)) return [0];
  const first = Math.ceil((gantt.view[0] - gantt.detail.passage) / plan.interval);
  const last = Math.floor(gantt.view[1] / plan.interval);
  const frames = [];
  for (let frame = Math.max(first, -40); frame <= Math.min(last, 40); frame += 1) if (frame !== 0) frames.push(frame);
  return [...frames, 0];
}

const frameName = (frame) => (frame === 0 ? "frame f" : `f${frame > 0 ? "+" : "−"}${Math.abs(frame)}`);

function paintGantt() {
  const chart = byId("chart-time");
  const { detail, lanes } = gantt;
  if (!chart || !detail) return;
  const plan = run.plans[state.plan];
  const total = Math.max(280, Math.floor(byId("gantt").clientWidth));
  const names = [...lanes.stages, ...lanes.queues, ...lanes.ways].map(({ name }) => textWidth(name, 12) + 26);
  const left = Math.min(Math.max(64, ...names), Math.max(64, total * 0.3));
  const right = total - 8;
  gantt.left = left;
  gantt.right = right;
  chart.setAttribute("viewBox", `0 0 ${total} ${lanes.height}`);
  chart.setAttribute("width", total);
  chart.setAttribute("height", lanes.height);
  const at = (time) => left + ((time - gantt.view[0]) / width()) * (right - left);
  const nodes = [];
  const [unit, size] = unitFor("time", Math.max(Math.abs(gantt.view[0]), gantt.view[1]), 10);
  const { ticks, decimals } = ticksOf(gantt.view[0] / size, gantt.view[1] / size, (right - left) / 90);
  for (const tick of ticks) {
    const x = at(tick * size);
    nodes.push(svg("line", { x1: x, x2: x, y1: HEAD - 4, y2: lanes.height, class: "grid" }));
    if (x < right - 12) nodes.push(svg("text", { x, y: 14, class: "tick", "text-anchor": "middle" }, `${tick.toFixed(decimals).replace("-", "−")} ${unit}`));
  }
  const inside = svg("g", { "clip-path": "url(#inside)" });
  nodes.push(svg("clipPath", { id: "inside" }, svg("rect", { x: left, y: 0, width: right - left, height: lanes.height })), inside);
  const bar = (x1, x2, y, height, attributes) => {
    const [a, b] = [Math.max(x1, left - 4), Math.min(x2, right + 4)];
    return svg("rect", { x: a.toFixed(2), y, width: Math.max(0.8, b - a).toFixed(2), height, ...attributes });
  };
  for (const frame of framesInView(plan)) {
    const shifted = frame * plan.interval;
    const tone = frame === 0 ? "own" : "other";
    plan.stages.forEach((stage, index) => {
      const [x1, x2] = [at(shifted + detail.offsets[index]), at(shifted + detail.offsets[index] + stage.time)];
      if (x2 < left || x1 > right || stage.time <= 0) return;
      inside.append(bar(x1 + 0.5, x2 - 0.5, lanes.stages[index].y, STAGE, { class: `stage-bar ${tone}`, rx: 3 }));
      const [a, b] = [Math.max(x1, left), Math.min(x2, right)];
      const name = frameName(frame);
      if (b - a > textWidth(name, 11) + 6) inside.append(svg("text", { x: (a + b) / 2, y: lanes.stages[index].y + 13, class: `bar-text ${tone}`, "text-anchor": "middle" }, name));
    });
    for (const queue of lanes.queues) paintTasks(inside, queue, shifted, tone, at, bar);
    for (const way of lanes.ways) {
      for (const move of way.moves) {
        const [x1, x2] = [at(shifted + move.start), at(shifted + move.end)];
        if (x2 < left || x1 > right || move.time <= 0) continue;
        inside.append(bar(x1, x2, move.y, MOVE - 2, { class: `move ${tone}` }));
      }
    }
  }
  paintMarks(nodes, at);
  if (gantt.links) paintCritical(inside, at);
  if (gantt.picked) {
    const place = placeOf(gantt.picked);
    inside.append(bar(at(gantt.picked.start) - 1, at(gantt.picked.end) + 1, place.y - 1, place.height + 2, { class: "picked" }));
  }
  for (const { y, name } of lanes.stages) nodes.push(svg("text", { x: left - 8, y: y + 13, class: "lane", "text-anchor": "end" }, name));
  for (const { y, name, processor } of lanes.queues) {
    nodes.push(svg("rect", { x: left - 12, y, width: 5, height: LANE, fill: colourOf(processor) }));
    nodes.push(svg("text", { x: left - 18, y: y + LANE / 2 + 4, class: "lane strong", "text-anchor": "end" }, fit(name, left - 20, 12)));
  }
  for (const { y, name, moves } of lanes.ways) {
    const rows = Math.max(...moves.map((move) => move.row)) + 1;
    nodes.push(svg("text", { x: left - 8, y: y + (rows * MOVE) / 2 + 3, class: "lane", "text-anchor": "end" }, fit(name, left - 10, 11)));
  }
  chart.replaceChildren(...nodes);
}

// Tasks of a queue; neighbours that are narrower than a pixel are drawn as one.
function paintTasks(inside, queue, shifted, tone, at, bar) {
  const colour = colourOf(queue.processor);
  let streak = null;
  const flush = () => {
    if (streak) inside.append(bar(streak[0], streak[1], queue.y, LANE, { class: `task ${tone}`, fill: colour }));
    streak = null;
  };
  for (const task of queue.tasks) {
    const [x1, x2] = [at(shifted + task.start), at(shifted + task.end)];
    if (x2 < gantt.left || x1 > gantt.right || task.time <= 0) continue;
    if (x2 - x1 < 1.2) {
      if (streak && x1 - streak[1] < 0.5) streak[1] = Math.max(streak[1], x2);
      else {
        flush();
        streak = [x1, x2];
      }
      continue;
    }
    flush();
    inside.append(bar(x1, x2, queue.y, LANE, { class: `task ${tone}${x2 - x1 > 4 ? " edged" : ""}`, fill: colour }));
    if (tone === "own") {
      const [a, b] = [Math.max(x1, gantt.left), Math.min(x2, gantt.right)];
      const text = fitName(task.name, b - a - 6, 11);
      if (text) inside.append(svg("text", { x: (a + b) / 2, y: queue.y + LANE / 2 + 3, class: `bar-text on-${inkOn(colour)}`, "text-anchor": "middle" }, text));
    }
  }
  flush();
}

function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b < 122 ? "dark" : "light";
}

// The text, or its start, where at least three letters fit.
function fit(text, room, size) {
  if (textWidth(text, size) <= room) return text;
  const count = Math.floor(room / (size * 0.58)) - 1;
  return count >= 3 ? `${text.slice(0, count)}…` : "";
}

// The longest tail of a path-like name that fits: the front of such names repeats from task to task.
function fitName(name, room, size) {
  const parts = shortName(name).split("/");
  for (let from = 0; from < parts.length; from += 1) {
    const tail = parts.slice(from).join("/");
    if (textWidth(tail, size) <= room) return tail;
  }
  return fit(parts[parts.length - 1], room, size);
}

// When frame f enters and leaves.
function paintMarks(nodes, at) {
  for (const time of [0, gantt.detail.passage]) {
    const x = at(time);
    if (x >= gantt.left - 1 && x <= gantt.right + 1) nodes.push(svg("line", { x1: x, x2: x, y1: HEAD - 6, y2: gantt.lanes.height, class: "mark-line" }));
  }
}

const placeOf = (item) =>
  item.kind === "task" ? { y: gantt.lanes.queues[item.lane].y, height: LANE } : { y: item.y, height: MOVE - 2 };

// The critical path of frame f: a band along its tasks and moves, and lines where it changes lanes.
function paintCritical(inside, at) {
  const steps = gantt.detail.critical.filter((item) => item.time > 0);
  const bands = [];
  const lines = [];
  steps.forEach((item, index) => {
    const [x1, x2] = [at(item.start), at(item.end)];
    const { y, height } = placeOf(item);
    const foot = item.kind === "task" ? y + height - 2.5 : y + height / 2;
    if (x2 >= gantt.left && x1 <= gantt.right) bands.push(`M${Math.max(x1, gantt.left - 5).toFixed(2)} ${foot}H${Math.min(Math.max(x2, x1 + 0.8), gantt.right + 5).toFixed(2)}`);
    const next = steps[index + 1];
    if (next) {
      const other = placeOf(next);
      const to = next.kind === "task" ? other.y + other.height - 2.5 : other.y + other.height / 2;
      const x = at(next.start);
      if (to !== foot && x >= gantt.left - 5 && x <= gantt.right + 5) lines.push(`M${x.toFixed(2)} ${foot}V${to}`);
    }
  });
  inside.append(svg("path", { d: bands.join(""), class: "critical" }), svg("path", { d: lines.join(""), class: "critical-link" }));
}

function timeAt(event) {
  const box = byId("chart-time").getBoundingClientRect();
  return gantt.view[0] + ((event.clientX - box.left - gantt.left) / (gantt.right - gantt.left)) * width();
}

// The task or move under the pointer, and its frame.
function hit(event) {
  const y = event.clientY - byId("chart-time").getBoundingClientRect().top;
  const time = timeAt(event);
  const plan = run.plans[state.plan];
  const slack = (2 * width()) / (gantt.right - gantt.left);
  const lane = gantt.lanes.queues.find((queue) => y >= queue.y && y <= queue.y + LANE);
  const way = gantt.lanes.ways.find(({ y: top, moves }) => y >= top - 2 && y <= top + (Math.max(...moves.map((move) => move.row)) + 1) * MOVE);
  const items = lane ? lane.tasks : way ? way.moves.filter((move) => Math.abs(y - move.y - MOVE / 2) <= MOVE / 2 + 1) : [];
  let best = null;
  for (const frame of framesInView(plan)) {
    const local = time - frame * plan.interval;
    for (const item of items) {
      const distance = Math.max(item.start - local, local - item.end, 0);
      if (distance <= slack && (!best || distance <= best.distance)) best = { item, frame, distance };
    }
  }
  return best;
}

function startDrag(event) {
  if (event.button !== 0) return;
  gantt.pointers.set(event.pointerId, event.clientX);
  gantt.drag = { x: event.clientX, y: event.clientY, view: [...gantt.view], moved: false };
}

function moveOver(event) {
  if (!gantt.pointers.has(event.pointerId)) {
    showUnder(event);
    return;
  }
  const before = [...gantt.pointers.values()];
  gantt.pointers.set(event.pointerId, event.clientX);
  const now = [...gantt.pointers.values()];
  if (now.length === 2) {
    const apart = (pair) => Math.max(10, Math.abs(pair[0] - pair[1]));
    zoom(apart(before) / apart(now), timeAt({ clientX: (now[0] + now[1]) / 2 }));
    gantt.drag = null;
    return;
  }
  if (!gantt.drag) return;
  const by = event.clientX - gantt.drag.x;
  if (Math.abs(by) > 4 && !gantt.drag.moved) {
    gantt.drag.moved = true;
    byId("chart-time").setPointerCapture(event.pointerId);
    tip.hide();
  }
  if (gantt.drag.moved) {
    const time = (by / (gantt.right - gantt.left)) * width();
    setView(gantt.drag.view[0] - time, gantt.drag.view[1] - time);
  }
}

function endDrag(event) {
  const clicked = gantt.drag && !gantt.drag.moved && event.type === "pointerup";
  gantt.pointers.delete(event.pointerId);
  gantt.drag = null;
  if (clicked) {
    const found = hit(event);
    pick(found ? found.item : null, false);
  }
}

function showUnder(event) {
  const found = hit(event);
  byId("chart-time").classList.toggle("over", Boolean(found));
  if (found) tip.show(event, about(found.item, found.frame));
  else tip.hide();
}

const nameOf = (reference) => {
  const item = reference.move !== undefined ? gantt.detail.moves[reference.move] : gantt.detail.tasks[reference.task];
  return item ? `${item.kind === "move" ? "the move of " : ""}${clip(shortName(item.name), 60)} (${item.place})` : "";
};

// What a task or move is, when it runs, and what it waits for.
function about(item, frame) {
  const waits = item.waits.map(nameOf).filter(Boolean);
  if (item.before !== null) waits.push(`${nameOf({ task: item.before })}, before it on its queue`);
  return [
    h("strong", { class: "operator" }, clip(item.kind === "move" ? `move of ${shortName(item.name)}` : shortName(item.name), 120)),
    item.members.length > 1 ? h("div", null, "with ", item.members.slice(1, 5).map((member) => clip(`${lastPart(member.name)}${member.class ? ` (${member.class})` : ""}`, 60)).join(", "), item.members.length > 5 ? ` and ${item.members.length - 5} more` : "") : null,
    terms([
      item.class && item.kind === "task" ? ["Class", item.class] : null,
      [item.kind === "move" ? "Way" : "Processor", `${item.place}, stage ${item.stage + 1}`],
      ["Time", `${showTime(item.time)}, from ${showTime(item.start)} to ${showTime(item.end)} of ${frameName(frame)}`],
      item.energy > 0 ? ["Energy", showEnergy(item.energy)] : null,
      item.kind === "move" ? ["Size", `${showBytes(item.bytes)}${item.converts ? ", converts the layout" : ""}`] : null,
      item.source ? ["Source", `its time is ${item.source}`] : null,
      ["Waits for", waits.length > 0 ? waits.join("; ") : "the start of its stage"],
      item.critical ? ["Critical", `on the critical path; waited last for ${item.waited}`] : null,
    ]),
  ];
}

function showPicked(item) {
  put(byId("picked"), item ? about(item, 0) : null);
}

// Keeps a task or move: here, and in the list of operators.
function pick(item, reveal) {
  gantt.picked = item;
  showPicked(item);
  if (item && reveal && (item.start < gantt.view[0] || item.end > gantt.view[1])) {
    const middle = (item.start + item.end) / 2;
    setView(middle - width() / 2, middle + width() / 2);
  }
  paintGantt();
  markOperators(item, !reveal);
}
