"""Our mapping engine beside the plain big-M model in HiGHS and beside OR-tools CP-SAT, on the same instances, one thread each.

`make bench-mapping` runs it and puts the table into docs/results.md.
Ours and big-M are run twice, with 10 and with 60 seconds, since they may spend a minute differently from ten seconds; CP-SAT is run once and watched.
Schedules of CP-SAT are timed again before they count, and a bound above any schedule that anybody found fails the run.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

from ortools.sat.python import cp_model

ROOT = pathlib.Path(__file__).resolve().parent.parent
INSTANCES = ROOT / "solver_tests" / "instances"
BEGIN, END = "<!-- bench-mapping -->", "<!-- /bench-mapping -->"
LIMITS = (10, 60)


class Point:
    """What is known at some time."""

    def __init__(self, seconds, value, bound):
        self.seconds, self.value, self.bound = seconds, value, bound

    @property
    def optimal(self):
        return self.value is not None and self.bound is not None and self.bound >= self.value

    @property
    def gap(self):
        return None if not self.value or self.bound is None else 1 - self.bound / self.value


def ours(binary, path, method, limit):
    """One run of `paracompile solve`."""
    command = [binary, "solve", str(path), "--method", method, "--time-limit", str(limit), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0] if done.stderr else "failed"
    answer = json.loads(done.stdout)
    return Point(answer["seconds"], answer["value"], answer["bound"]), answer["schedule"]


class Watch(cp_model.CpSolverSolutionCallback):
    """Keeps when which value was found."""

    def __init__(self):
        super().__init__()
        self.points = []

    def on_solution_callback(self):
        self.points.append((self.wall_time, round(self.objective_value), self.best_objective_bound))


def cp_sat(instance, limit, hint=None):
    """One run of CP-SAT: optional intervals, one machine a processor, delays under both choices."""
    times, edges, comm = instance["t"], instance["edges"], instance["comm"]
    processors = range(instance["m"])
    horizon = sum(max(row) for row in times) + sum(max(map(max, table)) for table in comm)
    if hint is not None:
        horizon = max(at["end"] for at in hint)
    model = cp_model.CpModel()
    start = [model.new_int_var(0, horizon, f"s{i}") for i in range(len(times))]
    end = [model.new_int_var(0, horizon, f"e{i}") for i in range(len(times))]
    on = [
        {p: model.new_bool_var(f"x{i},{p}") for p in processors if row[p] >= 0}
        for i, row in enumerate(times)
    ]
    machines = [[] for _ in processors]
    for i, row in enumerate(times):
        model.add_exactly_one(on[i].values())
        for p, chosen in on[i].items():
            machines[p].append(model.new_optional_interval_var(start[i], row[p], end[i], chosen, f"i{i},{p}"))
    for machine in machines:
        model.add_no_overlap(machine)
    for (i, j), delays in zip(edges, comm, strict=True):
        model.add(start[j] >= end[i])
        for p, source in on[i].items():
            for q, target in on[j].items():
                if delays[p][q] > 0:
                    model.add(start[j] >= end[i] + delays[p][q]).only_enforce_if(source, target)
    makespan = model.new_int_var(0, horizon, "makespan")
    model.add_max_equality(makespan, end)
    model.minimize(makespan)
    if hint is not None:
        for at in hint:
            i = at["operator"]
            model.add_hint(start[i], at["start"])
            model.add_hint(end[i], at["end"])
            for p, chosen in on[i].items():
                model.add_hint(chosen, p == at["processor"])
        model.add_hint(makespan, horizon)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = limit
    watch = Watch()
    began = time.monotonic()
    bounds = [(0.0, 0)]
    solver.best_bound_callback = lambda bound: bounds.append((time.monotonic() - began, bound))
    status = solver.solve(model, watch)
    taken = time.monotonic() - began
    found = status in {cp_model.OPTIMAL, cp_model.FEASIBLE}
    if found:
        placed = {
            i: (next(p for p, chosen in on[i].items() if solver.value(chosen)), solver.value(start[i]))
            for i in range(len(times))
        }
        value = timed(instance, placed)
        assert value == round(solver.objective_value), "CP-SAT's schedule takes another time than it says"

    def at(limit_s):
        value = min((v for s, v, _ in watch.points if s <= limit_s), default=None)
        known = [b for s, b in bounds if s <= limit_s] + [b for s, _, b in watch.points if s <= limit_s]
        if taken <= limit_s:
            known.append(solver.best_objective_bound)
        return Point(min(taken, limit_s), value, int(max(known) + 1 - 1e-6))

    return [at(limit_s) for limit_s in LIMITS]


def timed(instance, placed):
    """The makespan of a schedule that keeps all rules; everything else is an error."""
    end = {}
    for i, (p, begin) in placed.items():
        assert instance["t"][i][p] >= 0
        end[i] = begin + instance["t"][i][p]
    for (i, j), delays in zip(instance["edges"], instance["comm"], strict=True):
        assert placed[j][1] >= end[i] + delays[placed[i][0]][placed[j][0]], (i, j)
    for p in range(instance["m"]):
        busy = sorted((begin, end[i]) for i, (q, begin) in placed.items() if q == p and end[i] > begin)
        for (_, first_end), (second, _) in zip(busy, busy[1:], strict=False):
            assert second >= first_end
    return max(end.values())


def shown(point):
    """`optimal in 0.3 s`, or the gap."""
    if isinstance(point, str):
        return point
    if point is None or point.value is None:
        return "none"
    if point.optimal:
        return f"optimal, {point.seconds:.2g} s" if point.seconds < 10 else f"optimal, {point.seconds:.0f} s"
    return f"{100 * point.gap:.2f}%"


def compare(binary, name):
    """One row: everything on one instance."""
    path = INSTANCES / f"{name}.json"
    instance = json.loads(path.read_text())
    results = {}
    schedule = None
    for method in ("auto", "big-m"):
        points = []
        for limit in LIMITS:
            if points and not isinstance(points[-1], str) and points[-1].optimal:
                points.append(points[-1])
                continue
            point, detail = ours(binary, path, method, limit)
            points.append(point if point is not None else detail)
            if method == "auto" and point is not None:
                schedule = detail
        results[method] = points
    results["cp-sat"] = cp_sat(instance, LIMITS[-1])
    results["hinted"] = cp_sat(instance, LIMITS[-1], schedule)
    points = [p for row in results.values() for p in row if isinstance(p, Point)]
    best = min(p.value for p in points if p.value is not None)
    for engine, row in results.items():
        for point in row:
            if isinstance(point, Point) and point.bound is not None and point.bound > best:
                sys.exit(f"{name}: {engine} claims a bound of {point.bound}, and there is a schedule of {best}")
    print(f"{name}: done", file=sys.stderr, flush=True)
    return name, instance["n"], instance["m"], results


def table(rows):
    """Markdown."""
    names = {"auto": "paracompile", "big-m": "big-M in HiGHS", "cp-sat": "CP-SAT", "hinted": "CP-SAT from our schedule"}
    heads = [f"{title}, {limit} s" for title in names.values() for limit in LIMITS]
    lines = ["| instance | operators | processors | our value | our bound | " + " | ".join(heads) + " |"]
    lines.append("| --- | --: | --: | --: | --: |" + " --: |" * len(heads))
    for name, operators, processors, results in rows:
        cells = [shown(point) for key in names for point in results[key]]
        last = results["auto"][-1]
        lines.append(
            f"| {name} | {operators} | {processors} | {last.value} | {last.bound} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("instances", nargs="*", help="names; by default all of solver_tests/instances")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2)), help="solves at once")
    parser.add_argument("--update", type=pathlib.Path, help="put the table between the marks of this file")
    args = parser.parse_args()
    known = json.loads((INSTANCES / "best_known.json").read_text())
    names = args.instances or list(known)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda name: compare(args.binary, name), names))
    text = table(rows)
    if args.update is None:
        print(text)
        return
    document = args.update.read_text()
    before, rest = document.split(BEGIN)
    _, behind = rest.split(END)
    args.update.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{behind}")


if __name__ == "__main__":
    main()
