"""What single operators give: the tests of the onnx wheel, and the versions at which operators came and went."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT
from node_tests import all_tests

sys.path.insert(0, str(ROOT / "scripts"))
import list_operators  # noqa: E402

#: Tests that differ, one a line with the reason behind a colon.
REST = pathlib.Path(__file__).with_name("operators_rest.txt")
TABLE = ROOT / "crates/frontend/src/import/onnx/operators.txt"

#: Where the definitions of onnx 1.22 and of later wheels differ for versions that both know: Attention got a version 25 afterwards.
LATE_CHANGES = {"ai.onnx Attention": "25"}


#: Operators whose result is bounded where its extents depend on elements.
BOUNDED = {"Compress", "NonMaxSuppression", "NonZero", "StringNormalizer", "Unique"}


def inspected(test, directory):
    """What paracompile infers for a test: element type and shape of each result; nothing where it refuses."""
    path = directory / f"{test.name}.onnx"
    path.write_bytes(test.rewritten().SerializeToString())
    done = subprocess.run([BINARY, "inspect", path, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 2), f"{test.name}: exit {done.returncode}\n{done.stderr}"
    if done.returncode != 0:
        return None
    shown = json.loads(done.stdout)
    return test.shown(shown["outputs"]) if shown["complete"] else None


@pytest.fixture(scope="module")
def differing(tmp_path_factory):
    """The tests with a fixed shape that give another one here, and how many tests have one."""
    directory = tmp_path_factory.mktemp("nodes")
    tests = [test for test in all_tests() if test.has_fixed_shape]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda test: inspected(test, directory), tests))
    return [test.name for test, shown in zip(tests, found) if shown != test.expected()], len(tests)


def test_shapes_and_types_are_those_of_the_standards_own_tests(differing):
    names, count = differing
    ratio = 1 - len(names) / count
    print(f"\n{count - len(names)} of {count} tests agree: {ratio:.2%}")
    assert ratio >= 0.98


def test_the_rest_is_known_by_name_and_reason(differing):
    names, _ = differing
    lines = [line.partition(": ") for line in REST.read_text().splitlines() if not line.startswith("#")]
    assert all(reason for _, _, reason in lines)
    assert sorted(name for name, _, _ in lines) == sorted(names)


def test_few_tests_have_no_fixed_shape():
    tests = all_tests()
    assert len(tests) == 1765
    assert sum(not test.has_fixed_shape for test in tests) == 72


def test_bounds_are_no_smaller_than_what_the_tests_expect(tmp_path):
    seen = set()
    for test in all_tests():
        if test.has_fixed_shape or any(value is None for value in test.values("output").values()):
            continue
        shown = inspected(test, tmp_path)
        if shown is None:
            continue
        seen |= test.operators & BOUNDED
        for name, (dtype, shape) in test.expected().items():
            assert shown[name][0] == dtype, test.name
            assert len(shown[name][1]) == len(shape), test.name
            assert all(extent <= bound for extent, bound in zip(shape, shown[name][1])), test.name
    assert seen == BOUNDED


def test_the_table_of_operators_is_that_of_the_wheel():
    newest = {}
    committed = {}
    for line in TABLE.read_text().splitlines():
        words = line.split()
        if words[0] == "!":
            newest[words[1]] = int(words[2])
        elif words[0] != "#":
            committed[" ".join(words[:2])] = words[2:]
    wheel = list_operators.newest()
    assert newest.keys() == wheel.keys()
    known = {}
    for line in list_operators.table():
        domain, name, *versions = line.split()
        known[f"{domain} {name}"] = versions
    for operator, versions in committed.items():
        limit = wheel[operator.split()[0]]
        shared = [version for version in versions if int(version.rstrip("-")) <= limit]
        if operator in LATE_CHANGES and LATE_CHANGES[operator] not in known[operator]:
            shared.remove(LATE_CHANGES[operator])
        assert shared == known.pop(operator, []), operator
    assert not known
