"""Shapes and element types of buffers are those that onnx infers, from models without stored shapes."""

import json
import math

import onnx
from conftest import paracompile, plan_files
from networks import BITS, Network, strip

SIZES = {name: bits // 8 for name, bits in BITS.values()}


def test_every_buffer_has_the_shape_that_onnx_infers(model, tmp_path):
    stripped = tmp_path / model.name
    onnx.save(strip(onnx.load(model)), stripped)
    assert not onnx.load(stripped).graph.value_info
    out = tmp_path / "out"
    paracompile(stripped, "--soc", "vim3", "--out", out, "--no-plots", "--quiet", "--effort", "quick")

    network = Network(model)
    faults, seen = [], {}
    for path in plan_files(out):
        for buffer in json.loads(path.read_text())["buffers"]:
            if buffer["kind"] == "workspace":
                continue
            name = buffer["tensor"]
            seen.setdefault(buffer["kind"], set()).add(name)
            found = (buffer["dtype"], buffer["shape"], buffer["bytes"])
            size = math.prod(network.shape(name)) * SIZES[network.dtype(name)]
            expected = (network.dtype(name), network.shape(name), size)
            if found != expected:
                faults.append(f"{path.name}: {name}: {found}, onnx says {expected}")
    assert not faults, "\n".join(faults[:10])

    assert seen["input"] == {network.storage(name) for name in network.inputs}
    # In some plan the output is computed where it must end, in another one it is moved there.
    assert seen["output"] == {network.storage(name) for name in network.outputs}
    read = {name for index in network.computing for name in network.constants(index)}
    assert seen["weight"] <= read
    assert len(seen["activation"]) > len(network.computing) // 3


def test_inspect_shows_the_ports_of_the_file(model):
    network = Network(model)
    shown = json.loads(paracompile("inspect", model, "--json"))
    for kind in ["inputs", "outputs"]:
        expected = [
            {"name": name, "dtype": network.dtype(name), "shape": network.shape(name)}
            for name in getattr(network, kind)
        ]
        assert shown[kind] == expected
