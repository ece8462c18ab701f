// The selected plan: its figures, why it is as it is, its stages and memories.

function drawCard() {
  const plan = run.plans[state.plan];
  put(byId("card"),
    h("h3", null, icon(plan), h("span", { class: "name" }, titleOf(plan)),
      state.plan === run.recommended ? h("span", { class: "tag" }, "recommended") : null),
    h("p", { class: "shape" }, `${plan.strategy}, `, stageChips(plan)),
    plan.labels.length > 0 ? h("p", { class: "soft" }, `Best at: ${plan.labels.join(", ")}`) : null,
    terms([
      ["Latency", showTime(plan.latency), "One frame through an empty pipeline"],
      ["Throughput", showRate(throughput(plan))],
      ["Interval", showTime(plan.interval), "Time from frame to frame: the slowest stage"],
      ["Latency, paced", showTime(plan.paced), "While a frame enters every interval"],
      ["Latency, in stream", showTime(plan.saturated), "Of the 50th frame while frames enter as fast as they can"],
      ["Energy, active", `${showEnergy(plan.active)} a frame`, "Of the processors in use"],
      ["Energy, with board", `${showEnergy(plan.board)} a frame`, "With the board's base power over the interval"],
      ["Gap", showGap(gapOf(plan.proof)), "How far the latency can be above the least possible for these stages and processors"],
      ["Work", `${counted(plan.tasks, "task")}, ${counted(plan.moves, "move")}`],
      ["File", h("code", null, plan.file)],
    ]));
}

const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

function drawBar() {
  const plan = run.plans[state.plan];
  const step = (by) => select((state.plan + by + run.plans.length) % run.plans.length);
  const options = run.plans.map((entry, place) =>
    h("option", { value: place, selected: place === state.plan }, `${clip(titleOf(entry), 40)}: ${entry.strategy}, ${stagesOf(entry)}`));
  put(byId("bar"),
    h("button", { type: "button", title: "Previous plan", "aria-label": "Previous plan", onclick: () => step(-1) }, "‹"),
    h("select", { "aria-label": "Plan", onchange: (event) => select(Number(event.target.value)) }, options),
    h("button", { type: "button", title: "Next plan", "aria-label": "Next plan", onclick: () => step(1) }, "›"),
    h("span", { class: "figures" }, `${showTime(plan.latency)} · ${showRate(throughput(plan))} · ${showEnergy(plan.active)}`));
}

// What the plan is compared with: the recommended plan, the fastest single processor, other baselines.
function rivals() {
  const places = run.plans.map((_, place) => place).filter((place) => run.plans[place].kind === "baseline");
  const single = places.filter((place) => run.plans[place].id.startsWith("single:"));
  const best = single.sort((a, b) => run.plans[a].latency - run.plans[b].latency)[0];
  const others = places.filter((place) => !run.plans[place].id.startsWith("single:"));
  const list = [[run.recommended, "recommended"]];
  if (best !== undefined) list.push([best, "fastest alone"]);
  for (const place of others) list.push([place, ""]);
  return list.filter(([place]) => place !== state.plan);
}

// By how much, and whether that is good.
function versus(own, other, lower) {
  const share = own === other ? 0 : own / other - 1;
  if (!Number.isFinite(share) || Math.abs(share) < 0.0005) return h("td", { class: "number soft" }, "same");
  const good = lower ? share < 0 : share > 0;
  return h("td", { class: `number ${good ? "good" : "bad"}`, title: good ? "better" : "worse" },
    `${share > 0 ? "+" : "−"}${(100 * Math.abs(share)).toFixed(1)}%`);
}

function comparison() {
  const plan = run.plans[state.plan];
  const list = rivals();
  if (list.length === 0) return null;
  const rows = list.map(([place, note]) => {
    const other = run.plans[place];
    return h("tr", null,
      h("th", { scope: "row" }, h("a", { href: `#plan=${encodeURIComponent(other.id)}` }, clip(titleOf(other), 40)), note ? h("span", { class: "soft" }, ` ${note}`) : null),
      versus(plan.latency, other.latency, true),
      versus(plan.saturated, other.saturated, true),
      versus(throughput(plan), throughput(other), false),
      versus(plan.active, other.active, true));
  });
  return [
    h("h3", null, "Against other mappings"),
    h("div", { class: "wide" }, h("table", { class: "versus" },
      h("thead", null, h("tr", null, ["This plan, against", "Latency", "In stream", "Frames/s", "Energy"].map((title, index) =>
        h("th", { scope: "col", class: index > 0 ? "number" : null }, title)))),
      h("tbody", null, rows))),
  ];
}

function provenance(plan) {
  const shown = plan.provenance.map((share, index) => ({ share, index })).filter(({ share }) => share > 0);
  if (shown.length === 0) return null;
  return [
    h("h3", null, "Where the predicted time comes from"),
    h("div", { class: "shares", "aria-hidden": "true" }, shown.map(({ share, index }) =>
      h("span", { class: `source-${index}`, style: { width: `${100 * share}%` } }))),
    h("p", { class: "legend" }, shown.map(({ share, index }) =>
      h("span", null, h("span", { class: `swatch source-${index}` }), `${SOURCES[index]} ${showShare(share)}`))),
  ];
}

function drawWhy() {
  const plan = run.plans[state.plan];
  const { method, scope, stopped, value, bound } = plan.proof;
  const proof = gapOf(plan.proof) <= 0
    ? `Its latency of ${showTime(value)} equals the bound: it is optimal over ${scope}.`
    : `Its latency of ${showTime(value)} stands over a bound of ${showTime(bound)} (gap ${showGap(gapOf(plan.proof))}), over ${scope}.`;
  const ended = gapOf(plan.proof) > 0 ? {
    complete: " The search for it ran to its end.",
    gap: " The search for it ended at the gap that was allowed.",
    work: " The search for it ended at its counted work.",
    time: " The time limit ended the search for it.",
    interrupt: " The search for it was interrupted.",
  }[stopped] : stopped === "complete" ? "" : " Among mappings of equal latency, its energy is the best found.";
  put(byId("why"),
    h("div", { class: "prose" },
      state.plan === run.recommended ? h("p", null, h("strong", null, "Recommended. "), prose(run.why)) : null,
      h("ul", null, plan.why.map((sentence) => h("li", null, prose(sentence)))),
      h("p", null, h("strong", null, "Proof. "), `${proof}${ended} `, h("span", { class: "soft" }, `Method: ${method}.`))),
    h("div", { class: "beside" }, comparison(), provenance(plan)));
}

function drawStages() {
  const plan = run.plans[state.plan];
  const longest = Math.max(...plan.stages.map((stage) => stage.time), 1);
  const share = (part) => `${(100 * part) / longest}%`;
  const rows = plan.stages.map((stage, index) => {
    const slowest = stage.time === longest && plan.stages.findIndex((other) => other.time === longest) === index;
    const line = (name, colour, busy) => h("div", { class: "load" },
      h("span", { class: "who" }, name),
      h("span", { class: "track" },
        h("span", { class: "wait", style: { width: share(stage.time) } }),
        h("span", { class: "busy", style: { width: share(Math.min(busy, stage.time)), background: colour } })),
      h("span", { class: "figure" }, `${showTime(busy)}, ${showShare(stage.time > 0 ? busy / stage.time : 0)}`, h("span", { class: "soft" }, " of stage")));
    return h("div", { class: "stage" },
      h("h3", null, `Stage ${index + 1}`, slowest && plan.stages.length > 1 ? h("span", { class: "tag" }, "sets the interval") : null),
      h("p", { class: "soft" },
        `${showTime(stage.time)}${stage.alone !== stage.time ? `, ${showTime(stage.alone)} without the other stages` : ""}; ${counted(stage.operators, "operator")} in ${counted(stage.tasks, "task")}; ${gapOf(stage.proof) <= 0 ? "proven optimal" : `gap ${showGap(gapOf(stage.proof))}`}`),
      stage.processors.map((id, place) => line(chip(id, pointOf(plan, id)), colourOf(id), stage.busy[place])),
      stage.moving > 0 ? line(h("span", { class: "chip" }, swatch("var(--move)"), "moves"), "var(--move)", stage.moving) : null);
  });
  put(byId("stages"),
    h("div", { class: "stage-list" }, rows,
      h("p", { class: "legend" },
        h("span", null, h("span", { class: "swatch busy-sample" }), "busy"),
        h("span", null, h("span", { class: "swatch wait-sample" }), "waits inside the stage"),
        h("span", null, h("span", { class: "swatch idle-sample" }), "idle until the next frame"))),
    memories(plan));
}

function memories(plan) {
  const largest = Math.max(...plan.memory.map((used) => used.peak), 0);
  const limits = plan.memory.some((used) => run.memories[used.memory].limit !== null);
  const show = column("bytes", [largest]);
  return h("div", { class: "memories" },
    h("h3", null, "Memories"),
    h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Memory"),
        [`Weights (${show.unit})`, `Peak (${show.unit})`, limits ? `Size (${show.unit})` : null, limits ? "Used" : null].filter(Boolean)
          .map((title) => h("th", { scope: "col", class: "number" }, title)))),
      h("tbody", null, plan.memory.map((used) => {
        const { name, limit } = run.memories[used.memory];
        return h("tr", null, h("th", { scope: "row" }, name),
          h("td", { class: "number" }, show.show(used.weights)),
          h("td", { class: "number" }, show.show(used.peak)),
          limits ? h("td", { class: "number" }, limit === null ? "no limit" : show.show(limit)) : null,
          limits ? h("td", { class: "number" }, limit === null ? "" : showShare(used.peak / limit)) : null);
      }))),
    limits ? null : h("p", { class: "soft" }, "Sizes of the memories are not known or not limited."),
    h("h3", null, "Processors in use"),
    h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Processor"), h("th", { scope: "col" }, "Operating point"), h("th", { scope: "col", class: "number" }, "Load of the interval"))),
      h("tbody", null, plan.processors.map((processor) => {
        const busy = plan.stages.reduce((sum, stage) => {
          const place = stage.processors.indexOf(processor.id);
          return sum + (place < 0 ? 0 : stage.busy[place]);
        }, 0);
        return h("tr", null, h("th", { scope: "row" }, chip(processor.id)), h("td", null, processor.point),
          h("td", { class: "number" }, showShare(plan.interval > 0 ? busy / plan.interval : 0)));
      }))),
    h("p", { class: "soft" }, "Load is the share of the interval during which a processor computes."));
}
