"""The predicted figures of plans, worked out from the plan file alone.

Written from docs/model.md and docs/plan-format.md: events follow waits and the order of queues, everything else is integer arithmetic.
"""

import json

import pytest
from conftest import HEURISTICS, MODELS, plan_files

CHOSEN = [model for model in MODELS if model.stem in {"googlenet", "inception_v4", "pyschedcl_mha_h2", "resnet50"}]
FRAMES = 50


def rounded(numerator, denominator):
    """Half up, in integers."""
    return (2 * numerator + denominator) // (2 * denominator)


def slowdown(plan, processor, used):
    """κ(p, X) in thousandths (M4)."""
    factors = [
        entry["factor"][processor]
        for entry in plan["contention"]
        if set(entry["set"]) <= used and processor in entry["set"] and processor in entry["factor"]
    ]
    return max(factors, default=1000)


def durations(plan, used_by_stage):
    """Duration of each task if the processors in use are those that `used_by_stage` gives."""
    sharing = {processor["name"]: processor["sharing"] for processor in plan["processors"]}
    times = []
    for task in plan["tasks"]:
        name = plan["queues"][task["queue"]]["processor"]
        factor = slowdown(plan, name, used_by_stage[task["stage"]]) * sharing[name]
        times.append(rounded(task["work_ns"] * factor, 1_000_000))
    return times


def run(plan, task_times, frames, period):
    """Start and end of each command of each frame, each as early as waits and queues allow."""
    commands = plan["frame"]
    compute = {queue["id"] for queue in plan["queues"] if queue["kind"] == "compute"}
    before_on_queue, last = {}, {}
    for command in commands:
        queue = command.get("queue")
        if queue in compute:
            before_on_queue[command["id"]] = last.get(queue)
            last[queue] = command["id"]
    stage_of_queue_end = last
    send_of = {command["do"]["send"]: command["id"] for command in commands if "send" in command["do"]}
    history = []
    for frame in range(frames):
        start, end = {}, {}
        for command in commands:
            ready = 0
            (what, number), = command["do"].items()
            for wait in command["wait"]:
                back = frame - wait["frames_back"]
                if back == frame:
                    ready = max(ready, end[wait["command"]])
                elif back >= 0:
                    ready = max(ready, history[back][1][wait["command"]])
            queue = command.get("queue")
            if queue in compute:
                previous = before_on_queue[command["id"]]
                if previous is not None:
                    ready = max(ready, end[previous])
                elif frame > 0:
                    ready = max(ready, history[-1][1][stage_of_queue_end[queue]])
            if what == "begin" and number == 0:
                ready = max(ready, frame * period)
            if what == "receive":
                # The two sides of a move start and end together.
                start[command["id"]] = start[send_of[number]]
                end[command["id"]] = end[send_of[number]]
                continue
            start[command["id"]] = ready
            if what == "launch":
                ready += task_times[number]
            elif what == "send":
                ready += plan["transfers"][number]["duration_ns"]
            end[command["id"]] = ready
        history.append((start, end))
    return history


def ids(plan, what):
    return {command["do"][what]: command["id"] for command in plan["frame"] if what in command["do"]}


def stage_times(plan, history):
    start, end = history[0]
    begin, done = ids(plan, "begin"), ids(plan, "end")
    return [end[done[stage["id"]]] - start[begin[stage["id"]]] for stage in plan["stages"]]


def stream_latency(plan, history):
    """From start to end of the last frame."""
    start, end = history[-1]
    return end[ids(plan, "end")[len(plan["stages"]) - 1]] - start[ids(plan, "begin")[0]]


def m6(plan, times, frames, period):
    """The recurrence of M6 over stages and the copies of buffers, without any command: latency of the last frame."""
    stage_of = {task["id"]: task["stage"] for task in plan["tasks"]}
    written, read = {}, {}
    for transfer in plan["transfers"]:
        written.setdefault(transfer["to_buffer"], transfer["stage"])
        read.setdefault(transfer["from_buffer"], []).append(transfer["stage"])
    for task in plan["tasks"]:
        for buffer in task["writes"]:
            written.setdefault(buffer, stage_of[task["id"]])
        for buffer in task["reads"]:
            read.setdefault(buffer, []).append(stage_of[task["id"]])
    crossing = []
    for buffer in plan["buffers"]:
        if buffer["copies"] > 1:
            first = 0 if buffer["kind"] == "input" else written[buffer["id"]]
            readers = [*read.get(buffer["id"], []), first]
            final = len(times) - 1 if buffer["kind"] == "output" else max(readers)
            crossing.append((first, final, buffer["copies"]))
            assert buffer["copies"] == final - first + 1
    done = [[0] * len(times) for _ in range(frames)]
    for frame in range(frames):
        for stage, time in enumerate(times):
            start = done[frame][stage - 1] if stage else frame * period
            if frame:
                start = max(start, done[frame - 1][stage])
            for first, final, copies in crossing:
                if first == stage and frame >= copies:
                    start = max(start, done[frame - copies][final])
            if stage == 0:
                entered = start
            done[frame][stage] = start + time
        if frame == frames - 1:
            return done[frame][-1] - entered
    raise AssertionError("no frames")


def memory(plan, starts, ends, transfer_starts, transfer_ends):
    """Weights and peak of each memory that holds a buffer (M8)."""
    writer, readers = {}, {}
    for task in plan["tasks"]:
        span = (task["stage"], starts[task["id"]], ends[task["id"]])
        for buffer in task["writes"]:
            writer[buffer] = span
        for buffer in task["reads"]:
            readers.setdefault(buffer, []).append(span)
    for transfer in plan["transfers"]:
        span = (transfer["stage"], transfer_starts[transfer["id"]], transfer_ends[transfer["id"]])
        writer[transfer["to_buffer"]] = span
        readers.setdefault(transfer["from_buffer"], []).append(span)
    figures = {}
    for buffer in plan["buffers"]:
        entry = figures.setdefault(buffer["memory"], {"weights": 0, "fixed": 0, "local": {}})
        identity, size = buffer["id"], buffer["bytes"]
        if buffer["kind"] == "weight":
            entry["weights"] += size
        elif buffer["kind"] == "workspace" or buffer["copies"] > 1:
            entry["fixed"] += size * buffer["copies"]
        else:
            touched = [*readers.get(identity, []), *([writer[identity]] if identity in writer else [])]
            stage = touched[0][0] if touched else 0
            if buffer["kind"] in {"input", "output"}:
                begin, finish = 0, plan["stages"][stage]["time_ns"]
            else:
                begin = writer[identity][1]
                reads = readers.get(identity, [])
                finish = max(span[2] for span in reads) if reads else writer[identity][2]
            entry["local"].setdefault(stage, []).append((begin, finish, size))
    result = []
    for name, entry in figures.items():
        peak = entry["weights"] + entry["fixed"]
        for spans in entry["local"].values():
            instants = {begin for begin, _, _ in spans}
            peak += max(sum(size for begin, finish, size in spans if begin <= at < finish) for at in instants)
        result.append({"memory": name, "weights": entry["weights"], "peak": peak})
    return sorted(result, key=lambda entry: entry["memory"])


def figures(plan):
    """All that the plan predicts, from what it decides."""
    used = {processor["name"] for processor in plan["processors"]}
    task_times = durations(plan, [used] * len(plan["stages"]))
    alone_times = durations(plan, [set(stage["processors"]) for stage in plan["stages"]])
    history = run(plan, task_times, 1, 0)
    begin = ids(plan, "begin")
    start, end = history[0]

    def relative(what, instants, stage_of):
        return [
            instants[command] - start[begin[stage_of[number]["stage"]]]
            for number, command in sorted(ids(plan, what).items())
        ]

    times = stage_times(plan, history)
    alone = stage_times(plan, run(plan, alone_times, 1, 0))
    interval = max(times)
    loads = {}
    for task, time in zip(plan["tasks"], task_times):
        loads[task["queue"]] = loads.get(task["queue"], 0) + time
    dynamic = sum(item["energy_nj"] for item in [*plan["tasks"], *plan["transfers"]])
    active = dynamic + rounded(interval * sum(processor["static_mw"] for processor in plan["processors"]), 1000)
    task_starts = relative("launch", start, plan["tasks"])
    transfer_starts = relative("send", start, plan["transfers"])
    return {
        "task durations": task_times,
        "task starts": task_starts,
        "transfer starts": transfer_starts,
        "stage times": times,
        "stage times alone": alone,
        "latency": sum(alone),
        "interval": interval,
        "interval bound": max(loads.values()),
        "saturated latency": stream_latency(plan, run(plan, task_times, FRAMES, 0)),
        "paced latency": stream_latency(plan, run(plan, task_times, FRAMES, interval)),
        "active energy": active,
        "board energy": active + rounded(interval * plan["soc"]["base_mw"], 1000),
        "memory": memory(
            plan,
            task_starts,
            relative("launch", end, plan["tasks"]),
            transfer_starts,
            relative("send", end, plan["transfers"]),
        ),
    }


def claims(plan):
    """The same figures as the plan states them."""
    predicted = plan["predicted"]
    return {
        "task durations": [task["duration_ns"] for task in plan["tasks"]],
        "task starts": [task["start_ns"] for task in plan["tasks"]],
        "transfer starts": [transfer["start_ns"] for transfer in plan["transfers"]],
        "stage times": [stage["time_ns"] for stage in plan["stages"]],
        "stage times alone": [stage["time_alone_ns"] for stage in plan["stages"]],
        "latency": predicted["latency_ns"],
        "interval": predicted["interval_ns"],
        "interval bound": predicted["interval_bound_ns"],
        "saturated latency": predicted["saturated_latency_ns"],
        "paced latency": predicted["paced_latency_ns"],
        "active energy": predicted["energy_active_nj"],
        "board energy": predicted["energy_board_nj"],
        "memory": sorted(predicted["memory"], key=lambda entry: entry["memory"]),
    }


@pytest.mark.parametrize("model", CHOSEN, ids=lambda path: path.stem)
def test_plans_predict_what_follows_from_them(model, mapped):
    faults = []
    for path in plan_files(mapped(model)):
        plan = json.loads(path.read_text())
        found, claimed = figures(plan), claims(plan)
        faults += [f"{path.name}: {name}: {claimed[name]}, here {found[name]}" for name in found if found[name] != claimed[name]]
    assert not faults, "\n".join(faults[:10])


@pytest.mark.parametrize("model", CHOSEN, ids=lambda path: path.stem)
def test_streams_of_commands_follow_the_recurrence_over_stages(model, mapped):
    for path in plan_files(mapped(model)):
        plan = json.loads(path.read_text())
        times = [stage["time_ns"] for stage in plan["stages"]]
        predicted = plan["predicted"]
        assert m6(plan, times, FRAMES, 0) == predicted["saturated_latency_ns"], path.name
        assert m6(plan, times, FRAMES, predicted["interval_ns"]) == predicted["paced_latency_ns"], path.name


@pytest.mark.parametrize("model", CHOSEN, ids=lambda path: path.stem)
def test_proofs_add_up_and_fronts_repeat_their_plans(model, mapped):
    directory = mapped(model)
    front = json.loads((directory / "front.json").read_text())
    for entry in front["plans"]:
        plan = json.loads((directory / entry["file"]).read_text())
        for stage in plan["stages"]:
            assert stage["proof"]["bound_ns"] <= stage["proof"]["value_ns"] == stage["time_alone_ns"]
        for field in ["value_ns", "bound_ns"]:
            assert plan["proof"][field] == sum(stage["proof"][field] for stage in plan["stages"])
        assert round(entry["latency_s"] * 1e9) == plan["predicted"]["latency_ns"]
        assert round(entry["interval_s"] * 1e9) == plan["predicted"]["interval_ns"]
        assert round(entry["energy_active_j"] * 1e9) == plan["predicted"]["energy_active_nj"]


@pytest.mark.parametrize(
    ("place", "figure"),
    [
        (("tasks", 3, "work_ns"), "task durations"),
        (("transfers", 0, "duration_ns"), "task starts"),
        (("transfers", 0, "energy_nj"), "active energy"),
        (("processors", 0, "static_mw"), "active energy"),
        (("soc", "base_mw"), "board energy"),
        (("buffers", 0, "bytes"), "memory"),
    ],
    ids=str,
)
def test_a_changed_decision_shows_in_the_figures(place, figure, mapped):
    directory = mapped(next(model for model in MODELS if model.stem == "googlenet"))
    for path in plan_files(directory):
        plan = json.loads(path.read_text())
        if not plan["transfers"]:
            continue
        *way, last = place
        entry = plan
        for step in way:
            entry = entry[step]
        entry[last] += 1_000_000
        assert figures(plan)[figure] != claims(plan)[figure], path.name


@pytest.mark.parametrize("name", ["googlenet", "inception_v3", "inception_v4"])
def test_every_stage_of_the_inception_family_is_proven_optimal(name, mapped):
    directory = mapped(next(model for model in MODELS if model.stem == name))
    for path in plan_files(directory):
        plan = json.loads(path.read_text())
        for stage in plan["stages"]:
            if path.name not in HEURISTICS:
                assert stage["proof"]["bound_ns"] == stage["proof"]["value_ns"], path.name
                assert stage["proof"]["stopped_by"] == "complete", path.name


def test_the_example_of_m6_comes_out():
    """Stages of 1, 1 and 3 with two copies: interval 3, saturated latency 11, paced latency 5."""

    def plan(copies):
        tasks = [
            {"id": 0, "stage": 0, "reads": [], "writes": [0]},
            {"id": 1, "stage": 1, "reads": [0], "writes": [1]},
            {"id": 2, "stage": 2, "reads": [1], "writes": []},
        ]
        buffers = [{"id": identity, "kind": "activation", "copies": copies} for identity in range(2)]
        return {"tasks": tasks, "transfers": [], "buffers": buffers}

    assert m6(plan(2), [1, 1, 3], FRAMES, 0) == 11
    assert m6(plan(2), [1, 1, 3], FRAMES, 3) == 5
