// What the page holds, unpacked; formats of figures; colours.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const run = read("run");
const packed = read("details");

const SOURCES = ["measured", "fitted", "estimated", "borrowed", "assumed"];
const WAITED_FOR = [
  "the frame",
  "a tensor",
  "the task before it on its queue",
  "the stage before",
  "the frame before",
  "a free copy of a buffer",
];

// Colours that people with any kind of colour vision tell apart (Okabe and Ito, 2008); those of the pictures beside the page.
// Strategies are marks of their own shapes, processors are bars with names, so that a colour never stands alone.
const STRATEGIES = {
  "single": { colour: "#787878", shape: "circle" },
  "para-only": { colour: "#0072b2", shape: "square" },
  "pipe-only": { colour: "#e69f00", shape: "triangle" },
  "hybrid": { colour: "#009e73", shape: "diamond" },
};
const HUES = ["#0072b2", "#e69f00", "#009e73", "#56b4e9", "#cc79a7", "#d55e00", "#f0e442"];
const LIGHTER = ["#66aad1", "#f0c566", "#66c5ab", "#9ad2f2", "#e0afca", "#e69e66", "#f6ef8e"];
// Names that many chips use have their colour in every report.
const USUAL = [["big", "cpu", "a76", "a73", "a78"], ["gpu"], ["npu", "npu0", "dla"], ["little", "a55", "a53"], ["dsp", "dsp0", "mid", "npu1"], ["dsp1", "npu2"]];
const usual = (name) => USUAL.findIndex((names) => names.includes(name.toLowerCase()));

// A hue for each processor: the usual one, else the first that is free from where its letters lead, past seven a lighter one.
const COLOURS = (() => {
  const spread = (name) => new TextEncoder().encode(name).reduce((sum, byte) => (Math.imul(sum, 31) + byte) >>> 0, 0) % (HUES.length - 1);
  const taken = new Set();
  const colours = new Map();
  const order = [...run.processors].sort((a, b) => (usual(a) < 0) - (usual(b) < 0) || (a < b ? -1 : 1));
  for (const name of order) {
    if (taken.size === HUES.length) {
      colours.set(name, LIGHTER[colours.size % LIGHTER.length]);
      continue;
    }
    let slot = usual(name) < 0 ? spread(name) : usual(name);
    while (taken.has(slot)) slot = (slot + 1) % HUES.length;
    taken.add(slot);
    colours.set(name, HUES[slot]);
  }
  return run.processors.map((name) => colours.get(name));
})();
const colourOf = (processor) => COLOURS[processor];

// A number with so many significant digits, without an exponent.
function significant(value, digits) {
  if (value === 0) return "0";
  const before = Math.floor(Math.log10(Math.abs(value))) + 1;
  return value.toFixed(Math.max(0, digits - before)).replace("-", "−");
}

// Three digits, and a decimal at least.
const figure = (value) => significant(value, value >= 100 ? 4 : 3);

const UNITS = {
  time: [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]],
  energy: [["J", 1e9], ["mJ", 1e6], ["µJ", 1e3], ["nJ", 1]],
  bytes: [["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
};

// The unit for figures up to `largest`, the larger one from `least` of it on.
function unitFor(kind, largest, least = 1) {
  const units = UNITS[kind];
  return units.find(([, size]) => largest >= size * least) || units[units.length - 1];
}

const quantity = (kind) => (value) => {
  const [unit, size] = unitFor(kind, value);
  return size === 1 ? `${value}\u00a0${unit}` : `${figure(value / size)}\u00a0${unit}`;
};
const showTime = quantity("time");
const showEnergy = quantity("energy");
const showBytes = quantity("bytes");
const showRate = (rate) => `${figure(rate)}\u00a0frames/s`;
const showShare = (share) =>
  share > 0 && share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;

// A column of figures in one unit, which is not larger than most of them, with decimals for four digits.
function column(kind, values) {
  const largest = Math.max(...values, 0);
  const [unit, size] = kind in UNITS ? unitFor(kind, largest, kind === "bytes" ? 1 : 10) : ["", 1];
  const whole = largest / size;
  const decimals = size === 1 && kind in UNITS ? 0 : whole >= 10000 ? 0 : whole >= 100 ? 1 : whole >= 1 ? 2 : 3;
  return { unit, show: (value) => (value / size).toFixed(decimals) };
}

const throughput = (plan) => (plan.interval > 0 ? 1e9 / plan.interval : Infinity);
const gapOf = (proof) => (proof.value > 0 ? Math.max(0, 1 - proof.bound / proof.value) : 0);
function showGap(gap) {
  if (gap <= 0) return "optimal";
  return gap >= 1 ? "unknown" : `≤\u00a0${(Math.ceil(gap * 1000 - 1e-6) / 10).toFixed(1)}%`;
}
// Processors that plans run at several operating points: only these points tell plans apart.
const tuned = new Set(run.processors.map((_, id) => id).filter((id) =>
  new Set(run.plans.flatMap((plan) => plan.processors.filter((used) => used.id === id).map((used) => used.point))).size > 1));
const pointOf = (plan, id) => (tuned.has(id) ? (plan.processors.find((used) => used.id === id) || {}).point || "" : "");
const spotOf = (plan, id) => {
  const point = pointOf(plan, id);
  return point ? `${run.processors[id]}@${point}` : run.processors[id];
};
const stagesOf = (plan) =>
  plan.stages.map((stage) => stage.processors.map((id) => spotOf(plan, id)).join("+")).join(" | ");
const titleOf = (plan) => {
  if (plan.kind === "front") return `Plan ${plan.id}`;
  if (plan.kind === "baseline") return plan.id;
  return plan.id.startsWith("most-frames") ? `Most frames, ${plan.strategy}` : `Fastest ${plan.strategy}`;
};

// Where the stages behind the first begin.
const cutsOf = (plan) =>
  plan.stages.slice(1).map((stage) => (stage.first === null ? "" : shortName(run.operators.names[stage.first])));

// The last part of a path-like name, which tells operators apart.
const shortName = (name) => name.replace(/_output_0$/, "").replace(/^\/+|\/+$/g, "");
const lastPart = (name) => shortName(name).split("/").pop() || name;

// Sentences with names between backticks.
const prose = (text) => text.split("`").map((part, index) => (index % 2 === 1 ? h("code", null, shortName(part)) : part));

const unpacked = new Map();

// A plan in time, or null where the page was too small for it.
function detailOf(place) {
  if (!unpacked.has(place)) unpacked.set(place, packed[place] && unpack(run.plans[place], packed[place]));
  return unpacked.get(place);
}

function unpack(plan, detail) {
  const { names, nodes, classes, class: classOf, groups, sources } = run.operators;
  const offsets = [];
  let passage = 0;
  for (const stage of plan.stages) {
    offsets.push(passage);
    passage += stage.time;
  }
  const free = new Map();
  const columnOf = new Map(plan.processors.map((processor) => [processor.id, processor.sources]));
  const columns = detail.tasks;
  const tasks = columns.group.map((group, id) => {
    const stage = columns.stage[id];
    const lane = columns.queue[id];
    const processor = detail.queues[lane];
    const key = `${stage} ${lane}`;
    const start = (free.get(key) || 0) + columns.gap[id];
    const end = start + columns.time[id];
    free.set(key, end);
    const members = groups[group];
    const mask = sources.length > 0 ? sources[group][columnOf.get(processor)] || 0 : 0;
    return {
      kind: "task",
      id,
      stage,
      lane,
      processor,
      place: run.processors[processor],
      start: offsets[stage] + start,
      end: offsets[stage] + end,
      time: columns.time[id],
      energy: columns.energy[id],
      name: members.length > 0 ? names[members[0]] : "",
      node: members.length > 0 ? nodes[members[0]] : 0,
      members: members.map((member) => ({
        name: names[member],
        node: nodes[member],
        class: classOf.length > 0 ? classes[classOf[member]] : "",
      })),
      class: classOf.length > 0 && members.length > 0 ? classes[classOf[members[0]]] : "",
      source: SOURCES.filter((_, bit) => mask & (1 << bit)).join(", "),
      waits: columns.waits[id].map((wait) => (wait < 0 ? { move: -1 - wait } : { task: id - wait })),
      before: null,
    };
  });
  const last = new Map();
  for (const task of tasks) {
    const key = `${task.stage} ${task.lane}`;
    task.before = last.has(key) ? last.get(key) : null;
    last.set(key, task.id);
  }
  const m = detail.moves;
  const moves = m.stage.map((stage, id) => ({
    kind: "move",
    id,
    stage,
    start: offsets[stage] + m.start[id],
    end: offsets[stage] + m.start[id] + m.time[id],
    time: m.time[id],
    energy: m.energy[id],
    bytes: m.bytes[id],
    converts: m.converts[id] === 1,
    from: m.from[id],
    to: m.to[id],
    place: `${run.memories[m.from[id]].name} → ${run.memories[m.to[id]].name}`,
    name: run.tensors[m.tensor[id]],
    node: -1,
    members: [],
    class: "move",
    source: "",
    waits: m.writer[id] >= 0 ? [{ task: m.writer[id] }] : [],
    before: null,
  }));
  const critical = detail.critical.map((step, index) => {
    const item = step < 0 ? moves[-1 - step] : tasks[step];
    item.critical = true;
    item.waited = WAITED_FOR[detail.waited[index]];
    return item;
  });
  return { tasks, moves, critical, queues: detail.queues, offsets, passage };
}
