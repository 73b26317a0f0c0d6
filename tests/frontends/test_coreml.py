"""Core ML's tables by coremltools now, packages written now, and the models of the paper's bar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects import coreml
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.coreml.read import read_coreml
from stepwell.frontend.coreml.schema import ELEMENTS, SCHEMA
from stepwell.lowering.coreml_to_graph import FAMILIES
from tests.frontends.coreml_cases import Case, cases, expected, numbers, write
from tests.frontends.coreml_programs import programs
from tests.frontends.small_models import transformer
from tests.frontends.torch_cases import without_its_operators
from tests.support.components import needs
from tests.unit.frontend.test_coreml import close, interpreted

needs("coremltools")
needs("torch")
pytestmark = pytest.mark.slow
_KINDS = {8: "bool", 9: "string", 12: "bytes", 1: "double", 2: "float"}


def described() -> dict[str, Any]:
    """The messages of coremltools by name, those of maps among them."""
    found: dict[str, Any] = {}

    def enter(message: Any) -> None:
        if message.name in found or not message.full_name.startswith("CoreML"):
            return
        found[message.name] = message
        for field in message.fields:
            if field.message_type is not None:
                enter(field.message_type)

    enter(needs("coremltools.proto.MIL_pb2").DESCRIPTOR.message_types_by_name["Program"])
    model = needs("coremltools.proto.Model_pb2").DESCRIPTOR.message_types_by_name
    return found | {name: model[name] for name in ("Model", "ModelDescription")}


def test_the_schema_is_that_of_the_installed_package() -> None:
    messages = described()
    for message, fields in SCHEMA.items():
        if message == "Other":
            continue
        known = {field.number: field for field in messages[message].fields}
        for number, field in fields.items():
            theirs = known[number]
            assert theirs.name == field.name
            if field.kind in SCHEMA and field.kind != "Other" and not field.is_map:
                assert theirs.message_type.name == field.kind
            elif field.kind not in SCHEMA:
                assert _KINDS.get(theirs.type, "int") == field.kind


def test_the_element_types_are_those_of_the_installed_package() -> None:
    numbers_of = dict(needs("coremltools.proto.MIL_pb2").DataType.items())
    spelled = {number: name.lower() for name, number in numbers_of.items()}
    assert all(spelled[number] == name for number, name in ELEMENTS.items())


def test_programs_with_control_flow_written_now_give_what_was_expected(tmp_path: Path) -> None:
    for program in programs():
        path = tmp_path / f"{program.package}.mlpackage"
        program.make().save(str(path))
        for inputs, results in program.runs:
            pairs = zip(interpreted(path, inputs), results, strict=True)
            assert all(close(*pair) for pair in pairs), program.package


def test_the_signatures_have_the_arguments_of_the_installed_package() -> None:
    ops = needs("coremltools.converters.mil.mil.ops.registry").SSAOpRegistry.core_ops
    for name in coreml.TABLE:
        theirs = {each for version in ops[name].values() for each in version.input_spec.input_types}
        assert set(coreml.TABLE.signature(name).by_name) == theirs, name


def test_programs_written_now_give_what_torch_gives(tmp_path: Path) -> None:
    seen: set[str] = set()
    for case in cases():
        path = tmp_path / f"{case.name}.mlpackage"
        write(case, path)
        module = read_coreml(path, StepwellContext())
        seen |= {op.name.removeprefix("coreml.") for op in module.walk()}
        pairs = zip(interpreted(path, case.inputs), expected(case), strict=True)
        assert all(close(*pair, 5e-3 if case.half else 1e-4) for pair in pairs), case.name
    assert len(seen & FAMILIES.converted()) >= 75


@pytest.mark.parametrize("name", ["resnet50", "mobilenetv2_100"])
def test_a_model_of_images(name: str, tmp_path: Path) -> None:
    without_its_operators("torchvision")
    module = needs("timm").create_model(name, pretrained=False).eval()
    case = Case(name, module, [numbers(1, 3, 64, 64)])
    assert_compiled(case, tmp_path / f"{name}.mlpackage")


def test_a_transformer_of_two_layers(tmp_path: Path) -> None:
    # For the layers of torch coremltools converts arrays of rank 1 to numbers, which numpy 2.4 refuses.
    module = transformer(needs("torch")).eval()
    assert_compiled(
        Case("transformer", module, [np.array([[1, 5, 2, 7, 0]], np.int32)]), tmp_path / "m.mlpackage"
    )


def assert_compiled(case: Case, path: Path) -> None:
    """Require the compiled package to give what torch gives, relative to the range of the results."""
    write(case, path)
    (wanted,), found = expected(case), np.asarray(stepwell.compile(path)(*case.inputs))
    assert float(np.abs(np.subtract(found, wanted)).max()) <= 1e-4 * max(float(np.ptp(wanted)), 1.0)
