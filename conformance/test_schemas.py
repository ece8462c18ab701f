"""What paracompile writes fits the JSON Schemas that it publishes."""

import json

import jsonschema_rs
import pytest
from conftest import ROOT, paracompile, plan_files


def schema(name):
    return json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())


def validator(name):
    jsonschema_rs.meta.validate(schema(name))
    assert schema(name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    return jsonschema_rs.Draft202012Validator(schema(name))


def assert_valid(name, text):
    faults = validator(name).iter_errors(json.loads(text))
    assert not [f"{fault.instance_path}: {fault.message}" for fault in faults][:10]


def test_plans_and_fronts_fit_their_schemas(model, mapped):
    directory = mapped(model)
    assert_valid("front", (directory / "front.json").read_text())
    for plan in plan_files(directory):
        assert_valid("plan", plan.read_text())


def test_costs_fit_their_schema(model, tmp_path):
    paracompile("costs", model, "--soc", "vim3", "-o", tmp_path / "costs.json")
    assert_valid("costs", (tmp_path / "costs.json").read_text())


def test_built_in_profiles_fit_their_schema():
    names = [profile.stem for profile in (ROOT / "profiles").glob("*.json")]
    assert names
    for name in names:
        assert_valid("soc", paracompile("soc", "show", name))


@pytest.mark.parametrize("name", ["plan", "front"])
def test_schemas_refuse_what_lacks_a_field(name, mapped):
    directory = mapped(ROOT / "models/googlenet.onnx")
    file = directory / "front.json" if name == "front" else plan_files(directory)[0]
    document = json.loads(file.read_text())
    judge = validator(name)
    required = [field for field in document if field in schema(name)["required"]]
    assert len(required) > 5
    for field in required:
        broken = {key: value for key, value in document.items() if key != field}
        assert not judge.is_valid(broken), f"`{field}` may be missing"
