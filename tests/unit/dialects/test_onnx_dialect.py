"""The generated `onnx` dialect: its table against the installed onnx, defaults by opset, what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from onnx import defs
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.onnx.versions import VERSIONS
from stepwell.dialects.parser import parse_module
from stepwell.runtime.errors import StepwellError
from stepwell.tools.generators.generate_onnx import FOLDER, all_schemas, ops_source, versions_source


def op_of(line: str, opset: int | None = None) -> Operation:
    """The op of a line of IR, in a module with the given opset."""
    attributes = "" if opset is None else f'attributes {{onnx.opsets = {{"" = {opset} : i64}}}}'
    text = f'builtin.module {attributes} {{\n%x = "test.op"() : () -> tensor<2x3xf32>\n{line}\n}}'
    module = parse_module(StepwellContext(allow_unregistered=True), text)
    op = module.body.block.last_op
    assert op is not None
    return op


def onnx_op_of(line: str, opset: int | None = None) -> onnx.OnnxOp:
    """As `op_of`, of an operator of ONNX."""
    op = op_of(line, opset)
    assert isinstance(op, onnx.OnnxOp)
    return op


def test_generated_files_are_fresh() -> None:
    """`python -m stepwell.tools.generators.generate_onnx` changes nothing."""
    assert FOLDER.joinpath("ops.pyi").read_text() == ops_source()
    assert FOLDER.joinpath("versions.py").read_text() == versions_source()


def test_every_version_of_every_operator_is_there() -> None:
    """The signature at an opset is that of the schema in force there."""
    for op_name, versions in all_schemas().items():
        domain = onnx.domain_of(op_name)
        for opset in range(1, onnx.LATEST[domain] + 1):
            found = onnx.signature(op_name, opset)
            wanted = max((s.since_version for s in versions if s.since_version <= opset), default=None)
            assert (found and found.since) == wanted, (op_name, opset)


def test_counts() -> None:
    """As many operators as onnx has, and the class of one is found by its name."""
    assert len(VERSIONS) == len({(s.domain, s.name) for s in defs.get_all_schemas_with_history()})
    assert onnx.ConvOp.name == "onnx.Conv"
    assert onnx.domain_of("onnx.ml.Scaler") == "ai.onnx.ml"
    assert onnx.op_class("onnx.ml.Scaler") is onnx.ScalerOp and onnx.ScalerOp in onnx.OPS
    with pytest.raises(AttributeError, match="module 'stepwell.dialects.onnx' has no attribute 'NoSuchOp'"):
        onnx.NoSuchOp  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]


def test_classes_are_made_when_they_are_used() -> None:
    program = "from stepwell.dialects import onnx; onnx.ConvOp; print(onnx.op_class.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(("opset", "alpha"), [(1, 1.6732), (5, 1.6732), (6, 1.6732632423543772)])
def test_defaults_change_with_the_opset(opset: int, alpha: float) -> None:
    """Selu 1 has its constants in five digits, Selu 6 in full."""
    op = onnx_op_of('%y = "onnx.Selu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', opset)
    assert op.floating("alpha") == np.float32(alpha)
    assert op.has("alpha") and not op.has("beta")
    assert isinstance(op.attribute("alpha"), FloatAttr)


def test_given_attributes_win_over_defaults() -> None:
    """An attribute of the model is read as the model gives it."""
    op = onnx_op_of(
        '%y = "onnx.Transpose"(%x) <{perm = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>'
    )
    assert op.integers("perm") == (1, 0)
    with pytest.raises(StepwellError, match="needs attribute `perm` of kind int, found"):
        op.integer("perm")


def test_the_latest_opset_holds_when_nothing_says_it() -> None:
    """A fragment of IR needs no module attributes."""
    op = op_of('%y = "onnx.Relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>')
    assert onnx.opset_of(op) == onnx.LATEST[""]


def test_an_op_out_of_a_function_keeps_its_opset() -> None:
    """`onnx.opset` of the op comes before the module's map, which may have other domains."""
    op = op_of('%y = "onnx.Relu"(%x) {onnx.opset = 6 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>', 13)
    assert onnx.opset_of(op) == 6
    assert onnx.opset_of(op, "ai.onnx.ml") == 6
    del op.attributes[onnx.OPSET]
    assert onnx.opset_of(op) == 13
    assert onnx.opset_of(op, "ai.onnx.ml") == onnx.LATEST["ai.onnx.ml"]


@pytest.mark.parametrize(
    ("opset", "line", "message"),
    [
        (19, '"onnx.Gelu"(%x) : (T) -> T', "Gelu does not exist in opset 19"),
        (13, '"onnx.Relu"(%x) <{axis = 1 : i64}> : (T) -> T', "property"),
        (13, '"onnx.Relu"(%x) <{consumed_inputs = array<i64: 0>}> : (T) -> T', "Relu has no attribute"),
        (13, '"onnx.Concat"(%x) : (T) -> T', "Concat needs attribute `axis`"),
        (13, '"onnx.Cast"(%x) <{to = "FLOAT"}> : (T) -> T', "`to` must be of kind int"),
        (1, '"onnx.Cast"(%x) <{to = 1 : i64}> : (T) -> T', "`to` must be of kind string"),
        (6, '"onnx.Concat"() <{axis = 1 : i64}> : () -> T', "Concat needs at least 1"),
        (10, '"onnx.Squeeze"(%x, %x) : (T, T) -> T', "Squeeze has no input `axes` at version 1"),
        (12, '"onnx.Unsqueeze"(%x, %x) : (T, T) -> T', "Unsqueeze has no input `axes`"),
        (4, '"onnx.Reshape"(%x, %x) : (T, T) -> T', "Reshape has no input `shape`"),
    ],
)
def test_verifiers_know_the_opset(opset: int, line: str, message: str) -> None:
    """What another version has is refused."""
    op = op_of("%y = " + line.replace("T", "tensor<2x3xf32>"), opset)
    with pytest.raises(VerifyException, match=message):
        op.verify()


def test_signature_error_names_the_first_opset() -> None:
    """Conversions that ask for an operator too early get an error for the user."""
    op = onnx_op_of('%y = "onnx.Gelu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>', 19)
    with pytest.raises(StepwellError, match="exists from opset 20 on") as error:
        op.attribute("approximate")
    assert error.value.code == "unknown-opset"


def test_strings_that_are_no_text() -> None:
    """Strings of a model are bytes; those that are UTF-8 become text."""
    assert onnx.string_bytes(onnx.string_attr("Größe".encode())) == "Größe".encode()
    assert onnx.string_bytes(onnx.string_attr(b"\xff\x00")) == b"\xff\x00"


def test_optional_operands_are_absent() -> None:
    """An optional operand that is not given is no operand at all."""
    op = onnx_op_of(
        '%y = "onnx.Clip"(%x, %x) <{operandSegmentSizes = array<i32: 1, 0, 1>}>'
        " : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"
    )
    assert isinstance(op, onnx.ClipOp)
    assert op.min is None and op.max is op.operands[1]


def test_module_attribute_is_only_asked_for_numbers() -> None:
    """A map with something else in it does not decide."""
    module = ModuleOp([], {onnx.OPSETS: IntegerAttr(3, i64)})
    assert onnx.opset_of(module, "") == onnx.LATEST[""]
