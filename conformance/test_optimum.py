"""Optima and bounds of one-stage plans, against CP-SAT.

The problem is built from `paracompile costs`, the profile and the ONNX file: unrelated processors, precedence, one move for each tensor and destination (M3), outputs moved to `io` (M7), slowdown of the stage's own set (M4), every processor of the set in use (M2).
Only which operators form a task is taken from the plan.
Schedules that CP-SAT returns are timed again before they count.
"""

import collections
import dataclasses
import itertools
import json
import math
import pathlib

import onnx
import pytest
from conftest import HEURISTICS, ROOT, paracompile, plan_files
from networks import Network
from ortools.sat.python import cp_model


@dataclasses.dataclass(frozen=True)
class Block:
    """A part of a network that is small enough for CP-SAT."""

    name: str
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


BLOCKS = [
    Block("attention", "pyschedcl_mha_h2", (), ()),
    Block("googlenet_3a", "googlenet", ("/maxpool2/MaxPool_output_0",), ("/inception3a/Concat_output_0",)),
    Block("googlenet_5b", "googlenet", ("/inception5a/Concat_output_0",), ("/inception5b/Concat_output_0",)),
    Block("googlenet_tail", "googlenet", ("/inception5a/Concat_output_0",), ("output",)),
    Block("squeezenet_prefix", "squeezenet1_1", ("input",), ("/features/features.4/Concat_output_0",)),
    Block("squeezenet_two_outputs", "squeezenet1_1", ("input",), ("/features/features.3/Concat_output_0", "/features/features.5/MaxPool_output_0")),
]


@dataclasses.dataclass
class Problem:
    """Tasks on the processors of one set, in integers."""

    processors: list[str]
    memory: dict[str, str]
    io: str
    #: times[task][processor], energies alike; slowdown applied.
    times: list[dict[str, int]]
    energies: list[dict[str, int]]
    #: Tensors: who writes (None: enters), who reads, whether it must end in `io`, moves[a][b] = (time, energy).
    tensors: list[tuple]


def plain(number):
    """A number of a profile, with or without its source."""
    return number["value"] if isinstance(number, dict) else number


def half_up(decimal):
    return math.floor(decimal + 0.5)


def cut(block, folder):
    """The block as a model of its own."""
    source = ROOT / "models" / f"{block.model}.onnx"
    if not block.inputs:
        return source
    target = folder / f"{block.name}.onnx"
    whole = onnx.shape_inference.infer_shapes(onnx.load(source), data_prop=True)
    part = onnx.utils.Extractor(whole).extract_model(list(block.inputs), list(block.outputs))
    onnx.checker.check_model(part)
    onnx.save(part, target)
    return target


def problem(network, costs, profile, tasks, chosen):
    """The scheduling problem of `tasks`, lists of node indices, on the processors `chosen`."""
    described = {processor["name"]: processor for processor in profile["processors"]}
    assert not any(described[name]["fuses"] for name in chosen)
    factor = {
        name: max(
            (
                half_up(1000 * plain(entry["factor"][name]))
                for entry in profile["contention"]
                if set(entry["set"]) <= set(chosen) and name in entry["factor"]
            ),
            default=1000,
        )
        for name in chosen
    }

    def slowed(decimal, name):
        return (2 * half_up(decimal * 1e9) * factor[name] + 1000) // 2000

    def summed(members, name, field):
        total = 0.0
        for node in members:
            total += costs[node, name][field]
        return slowed(total, name)

    links = {(link["from"], link["to"]): link for link in profile["links"]}
    layouts = {described[name]["layout"] for name in chosen}
    assert len(layouts) == 1, "layouts would have to be converted"
    memory = {name: described[name]["memory"] for name in chosen}
    places = {profile["io"], *memory.values()}

    def move(size, a, b):
        link = links[a, b]
        assert plain(link["convert_s_per_byte"]) == 0
        time = plain(link["latency_s"]) + size * (1 / plain(link["bytes_per_s"]))
        return half_up(time * 1e9), half_up(time * plain(link["power_w"]) * 1e9)

    owner = {node: task for task, members in enumerate(tasks) for node in members}
    readers = collections.defaultdict(set)
    for task, members in enumerate(tasks):
        for node in members:
            for name in network.nodes[node].input:
                if name in network.variable:
                    readers[network.storage(name)].add(task)
    leaving = {network.storage(name) for name in network.outputs}
    tensors = []
    for name in sorted(readers.keys() | leaving):
        source = network.producer.get(name)
        writer = None if source is None else owner[source]
        read = readers[name] - {writer}
        size = network.bytes(name)
        moves = {(a, b): move(size, a, b) for a in places for b in places if a != b}
        to_io = name in leaving and writer is not None
        if read or to_io:
            tensors.append((writer, sorted(read), to_io, moves))
    return Problem(
        processors=list(chosen),
        memory=memory,
        io=profile["io"],
        times=[{name: summed(members, name, "time_s") for name in chosen} for members in tasks],
        energies=[{name: summed(members, name, "energy_j") for name in chosen} for members in tasks],
        tensors=tensors,
    )


def evaluate(given, placed, order):
    """Makespan and energy if tasks start as early as they can, in this order on their processors."""
    reads = collections.defaultdict(list)
    for tensor in given.tensors:
        for task in tensor[1]:
            reads[task].append(tensor)
    end, free, energy = {}, collections.defaultdict(int), 0
    for task in order:
        name = placed[task]
        here = given.memory[name]
        ready = free[name]
        for writer, _, _, moves in reads[task]:
            there = given.io if writer is None else given.memory[placed[writer]]
            ready = max(ready, (0 if writer is None else end[writer]) + (moves[there, here][0] if there != here else 0))
        end[task] = free[name] = ready + given.times[task][name]
        energy += given.energies[task][name]
    makespan = max(end.values())
    for writer, read, to_io, moves in given.tensors:
        there = given.io if writer is None else given.memory[placed[writer]]
        targets = {given.memory[placed[task]] for task in read} | ({given.io} if to_io else set())
        for target in targets - {there}:
            time, joules = moves[there, target]
            energy += joules
            if to_io and target == given.io:
                makespan = max(makespan, end[writer] + time)
    return makespan, energy


def solve(given, limit=None):
    """The least makespan, or, below a makespan of `limit`, the least energy; None if CP-SAT does not prove it."""
    model = cp_model.CpModel()
    count = len(given.times)
    horizon = sum(max(times.values()) for times in given.times) + sum(
        max((time for time, _ in moves.values()), default=0) for *_, moves in given.tensors
    )
    horizon = horizon if limit is None else limit
    on = [{name: model.new_bool_var(f"x{task},{name}") for name in given.processors} for task in range(count)]
    start = [model.new_int_var(0, horizon, f"s{task}") for task in range(count)]
    end = [model.new_int_var(0, horizon, f"e{task}") for task in range(count)]
    makespan = model.new_int_var(0, horizon, "makespan")
    lanes = collections.defaultdict(list)
    for task in range(count):
        model.add_exactly_one(on[task].values())
        for name, used in on[task].items():
            time = given.times[task][name]
            lanes[name].append(model.new_optional_interval_var(start[task], time, end[task], used, f"i{task},{name}"))
        model.add(makespan >= end[task])
    for name in given.processors:
        model.add_no_overlap(lanes[name])
        model.add_bool_or(on[task][name] for task in range(count))
    energy = [joules * on[task][name] for task, by in enumerate(given.energies) for name, joules in by.items()]
    for index, (writer, read, to_io, moves) in enumerate(given.tensors):
        homes = [(None, given.io)] if writer is None else [(on[writer][name], given.memory[name]) for name in given.processors]
        for literal, there in homes:
            given_here = [] if literal is None else [literal]
            moved = {}
            for task in read:
                for name, used in on[task].items():
                    here = given.memory[name]
                    time, joules = moves[there, here] if there != here else (0, 0)
                    if writer is None:
                        model.add(start[task] >= time).only_enforce_if(used)
                    else:
                        model.add(start[task] >= end[writer] + time).only_enforce_if(used, literal)
                    if there != here:
                        once = moved.setdefault(here, (model.new_bool_var(f"y{index},{there},{here}"), joules))[0]
                        model.add_bool_or([once, used.negated(), *(one.negated() for one in given_here)])
            if to_io and there != given.io:
                time, joules = moves[there, given.io]
                model.add(makespan >= end[writer] + time).only_enforce_if(literal)
                once = moved.setdefault(given.io, (model.new_bool_var(f"y{index},{there},io"), joules))[0]
                model.add_implication(literal, once)
            energy += [joules * once for once, joules in moved.values()]
    model.minimize(makespan if limit is None else sum(energy))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.random_seed = 1
    solver.parameters.max_time_in_seconds = 60
    status = solver.solve(model)
    assert status in {cp_model.OPTIMAL, cp_model.FEASIBLE}, solver.status_name(status)
    placed = [next(name for name, used in by.items() if solver.boolean_value(used)) for by in on]
    order = sorted(range(count), key=lambda task: (solver.value(start[task]), solver.value(end[task])))
    assert set(placed) == set(given.processors)
    timed = evaluate(given, placed, order)
    if limit is None:
        assert timed[0] <= solver.value(makespan)
    else:
        assert timed[0] <= limit
        assert timed[1] <= solver.objective_value
    return (timed, status == cp_model.OPTIMAL, math.ceil(solver.best_objective_bound - 1e-6))


@dataclasses.dataclass
class Case:
    """A block, mapped, and what CP-SAT needs to judge it."""

    network: Network
    costs: dict
    profile: dict
    path: pathlib.Path

    folder: pathlib.Path

    def mapped(self, processors):
        """The directory of the block's plans of one stage."""
        out = self.folder / "+".join(processors)
        if not out.exists():
            paracompile(
                self.path, "--soc", self.folder / "soc.json", "--processors", ",".join(processors), "--max-stages", 1,
                "--out", out, "--no-plots", "--quiet",
            )
        return out

    def problem(self, plan, chosen):
        tasks = [[operator["node"] for operator in task["operators"]] for task in plan["tasks"]]
        return problem(self.network, self.costs, self.profile, tasks, chosen)


def as_built_in(profile):
    return profile


def eager(profile):
    """Without slowdowns and start-up times of moves, so that it pays to use all processors."""
    for link in profile["links"]:
        link["latency_s"] = 0
    return {**profile, "contention": []}


@pytest.fixture(scope="module", params=BLOCKS, ids=lambda block: block.name)
def block(request):
    return request.param


@pytest.fixture(scope="module", params=[as_built_in, eager], ids=["vim3", "eager"])
def case(request, block, tmp_path_factory):
    folder = tmp_path_factory.mktemp(block.name)
    path = cut(block, folder)
    profile = request.param(json.loads(paracompile("soc", "show", "vim3")))
    (folder / "soc.json").write_text(json.dumps(profile))
    paracompile("costs", path, "--soc", folder / "soc.json", "-o", folder / "costs.json")
    entries = json.loads((folder / "costs.json").read_text())["entries"]
    costs = {(entry["node"], entry["processor"]): entry for entry in entries}
    return Case(Network(path), costs, profile, path, folder)


PROCESSORS = ("big", "little", "gpu")
SETS = [chosen for size in (2, 3) for chosen in itertools.combinations(PROCESSORS, size)]


def one_stage_plans(directory, chosen):
    """Plans of one stage on exactly these processors, without schedules of the whole network by a rule."""
    for path in plan_files(directory):
        plan = json.loads(path.read_text())
        if path.name not in HEURISTICS and [stage["processors"] for stage in plan["stages"]] == [list(chosen)]:
            yield path.name, plan


def placements(plan):
    return [plan["queues"][task["queue"]]["processor"] for task in plan["tasks"]]


@pytest.mark.parametrize("chosen", SETS, ids="+".join)
def test_one_stage_on_all_processors_is_optimal_where_it_says_so(case, chosen):
    directory = case.mapped(chosen)
    plans = list(one_stage_plans(directory, chosen))
    single = next(one_stage_plans(directory, chosen[:1]))[1]
    (best, _), proven, bound = solve(case.problem(single, chosen))
    if not plans:
        # A set has no file if another one of several processors is faster.
        front = json.loads((directory / "front.json").read_text())
        fastest = front["best_by_strategy"]["para-only"]
        assert len(chosen) > 2
        assert round(fastest["latency_s"] * 1e9) <= best
    for name, plan in plans:
        proof = plan["stages"][0]["proof"]
        given = case.problem(plan, chosen)
        dynamic = sum(item["energy_nj"] for item in [*plan["tasks"], *plan["transfers"]])
        # The schedule is worth what it claims, in a problem that was built without it.
        assert evaluate(given, placements(plan), range(len(plan["tasks"]))) == (proof["value_ns"], dynamic), name
        # No schedule that was found is below the plan's bound, and no plan is below CP-SAT's.
        assert proof["bound_ns"] <= best, name
        assert proof["value_ns"] >= bound, name
        if proof["bound_ns"] < proof["value_ns"]:
            continue
        if proven:
            assert proof["value_ns"] == best, name
        (_, least), optimal, floor = solve(given, limit=proof["value_ns"])
        assert dynamic >= floor, name
        if optimal:
            assert dynamic == least, f"{name}: optimal in time, {dynamic} nJ where {least} would do"


def test_the_least_latency_of_one_stage_is_that_of_the_best_set(case):
    directory = case.mapped(PROCESSORS)
    front = json.loads((directory / "front.json").read_text())
    latency = min(round(plan["latency_s"] * 1e9) for plan in front["plans"])
    single = next(one_stage_plans(directory, PROCESSORS[:1]))[1]
    values, bounds = [], []
    for size in (1, 2, 3):
        for chosen in itertools.combinations(PROCESSORS, size):
            (value, _), _, bound = solve(case.problem(single, chosen))
            values.append(value)
            bounds.append(bound)
    assert min(bounds) <= latency <= min(values)
