// What stands around the plans, and which plan is selected.

const state = { plan: -1 };

// Shows a plan everywhere; the address names it, so that a link leads back to it.
function select(place) {
  if (place === state.plan || !run.plans[place]) return;
  state.plan = place;
  const address = `#plan=${encodeURIComponent(run.plans[place].id)}`;
  if (location.hash !== address) history.replaceState(null, "", address);
  drawFront();
  if (byId("plans").childElementCount === 0) drawPlans();
  else markPlans();
  drawCard();
  drawBar();
  drawGantt();
  drawWhy();
  drawStages();
  drawOperators();
}

function fromAddress() {
  const match = /^#plan=(.*)$/.exec(location.hash);
  if (!match) return -1;
  let id = match[1];
  try {
    id = decodeURIComponent(id);
  } catch {
    // Taken as it is.
  }
  const asked = run.plans.findIndex((plan) => plan.id === id);
  return asked >= 0 ? asked : run.plans.findIndex((plan) => plan.id === id.padStart(2, "0"));
}

function drawHead() {
  const fronts = run.plans.filter((plan) => plan.kind === "front").length;
  const baselines = run.plans.filter((plan) => plan.kind === "baseline").length;
  const operators = run.operators.names.length;
  put(byId("facts"), [
    counted(operators, "operator"),
    `${counted(run.processors.length, "processor")} (${run.processors.join(", ")})`,
    `${counted(fronts, "plan")} on the front`,
    counted(baselines, "baseline"),
    `effort ${run.effort}`,
  ].join(" · "));
  put(byId("notes"), run.notes.map((note) => h("p", { class: "note" }, note)));
  put(byId("proof"), h("p", null, run.proof), h("details", null, h("summary", null, "How the search went"), h("p", { class: "soft" }, run.search.join(" "))));
}

function drawAbout() {
  put(byId("about"),
    h("details", null, h("summary", null, "What the words mean"), terms([
      ["Latency", "One frame through an empty pipeline: the sum of its stages, each slowed by its own processors alone."],
      ["Interval", "The time from frame to frame, which is that of the slowest stage while all processors of the plan work. Its reciprocal is the throughput."],
      ["Paced", "Latency while a frame enters every interval."],
      ["In stream", "Latency of the 50th frame while frames enter as fast as they can, and so wait for each other."],
      ["Active energy", "What the processors in use take for a frame, their static power over the interval included. With the board, its base power is added."],
      run.plans.some((plan) => plan.id.startsWith("twin:"))
        ? ["Twin", "The plan of that number with the same stages, processors and order, but every processor at the run's own operating point: what the other points change."] : null,
      ["Gap", "One minus bound over value. The bound holds for the plan's stages on their processors; no mapping of that scope is faster."],
      ["Critical path", "The chain of tasks and moves that a frame of the paced stream waits for: each starts when the one before it ends."],
      ["Move", "A tensor that goes to another memory or layout."],
      ["Measured, fitted, estimated, borrowed, assumed", "Where a predicted time comes from: the chip itself, a model fitted to measurements on it, other known figures, a related chip, or an assumption."],
    ])),
    h("details", null, h("summary", null, "The run"), terms([
      ["Model", `${run.model.name}, inputs ${run.model.inputs.join(", ")}, outputs ${run.model.outputs.join(", ")}`],
      ["Digest", h("code", null, run.model.digest)],
      ["Chip", `${run.soc.name}, base power ${run.soc.base_mw} mW`],
    ])),
    h("p", { class: "soft" }, `Made by paracompile ${run.version}. All figures are predictions by the rules of its model. The page loads nothing and works offline.`));
}

drawHead();
drawAbout();
const asked = fromAddress();
select(asked >= 0 ? asked : run.recommended);
window.addEventListener("hashchange", () => {
  const place = fromAddress();
  if (place >= 0) select(place);
});
document.addEventListener("scroll", () => tip.hide(), { passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") tip.hide();
});
