"""Operators at other versions than those of their tests: `onnx.version_converter` rewrites the tests, and what is inferred stays.

The converter knows where attributes became operands and back, so this is what holds rules for older versions.
It leaves nodes alone that it does not know, and some of its results are no valid models: those that onnx's own checker and inference
refuse are passed over.
"""

import collections
import json
import subprocess

import onnx
from conftest import BINARY
from node_tests import all_tests
from onnx import version_converter

#: Versions at which many operators changed.
VERSIONS = [7, 9, 10, 12, 13, 17, 18, 20, 23]

#: Tests of each combination of operators that are converted.
ENOUGH = 2

#: The converter takes over the axis of batches that `Scan` has no more since version 9.
WRONGLY_CONVERTED = {"test_scan_sum"}

#: These take what is no tensor; `operators_rest.txt` has them too.
WITHOUT_SHAPE = {"OptionalGetElement", "OptionalHasElement"}


def converted(test):
    """The test at each other version that the converter and the checker of onnx take, with the version."""
    model = test.rewritten(probed=False)
    imported = next((entry.version for entry in model.opset_import if entry.domain == ""), None)
    outputs = list(model.graph.output)
    for version in VERSIONS:
        if imported in (None, version):
            continue
        try:
            other = version_converter.convert_version(model, version)
            onnx.checker.check_model(other, full_check=True)
        except Exception:  # The converter and the checker raise types of their own, and bare ones of C++.
            continue
        del other.graph.value_info[:]
        del other.graph.output[:]
        other.graph.output.extend(onnx.ValueInfoProto(name=output.name) for output in outputs)
        yield version, other


def test_converted_tests_give_the_same_shapes(tmp_path):
    seen = collections.Counter()
    compared = collections.Counter()
    faults = []
    for test in all_tests():
        key = tuple(sorted(test.operators))
        if test.name in WRONGLY_CONVERTED:
            continue
        if not test.has_fixed_shape or "_expanded" in test.name or test.operators & WITHOUT_SHAPE:
            continue
        seen[key] += 1
        if seen[key] > ENOUGH:
            continue
        expected = test.expected()
        for version, model in converted(test):
            path = tmp_path / "converted.onnx"
            path.write_bytes(model.SerializeToString())
            done = subprocess.run([BINARY, "inspect", path, "--json"], capture_output=True, text=True)
            if done.returncode != 0:
                faults.append(f"{test.name} at version {version}: {done.stderr}")
                continue
            inspected = json.loads(done.stdout)
            if not inspected["complete"]:
                if not any("nothing to map" in missing for missing in inspected["missing"]):
                    faults.append(f"{test.name} at version {version}: {inspected['missing']}")
                # Else all is constant.
                continue
            shown = test.shown(inspected["outputs"])
            compared[version] += 1
            if any(expected[name] != found for name, found in shown.items()):
                faults.append(f"{test.name} at version {version}: {shown}, expected {expected}")
    assert not faults, "\n".join(faults)
    assert all(compared[version] > 40 for version in VERSIONS), compared
