"""Op tables: signatures as text, values of arguments, and the classes that are made of them."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import StringAttr, f32
from xdsl.dialects.test import TestOp
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.foreign import ForeignOp, attribute_of, make_op_class, parse_signature, value_of
from stepwell.dialects.foreign.model_dialect import model_dialect
from stepwell.dialects.foreign.values import Value
from stepwell.dialects.parser import parse_module
from stepwell.dialects.torch import TABLE
from stepwell.dialects.types import tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

LINE = (
    "lib.op.name(Tensor self, Tensor? bias=None, Tensor?[] parts=[], *, int[] size=[1, 2], float eps=1e-05, "
    'str mode="a, b", Scalar alpha=1, ScalarType? dtype=None, bool flag=False) -> (Tensor, Tensor[])'
)


def test_a_signature_is_read_from_its_line() -> None:
    signature = parse_signature(LINE)
    assert signature.name == "lib.op.name"
    assert [each.name for each in signature.tensors] == ["self", "bias", "parts"]
    known = signature.by_name
    assert known["self"].is_required and not known["bias"].is_required
    assert (known["bias"].is_optional, known["parts"].has_optional_items) == (True, True)
    assert known["size"].is_list and known["size"].default == (1, 2)
    assert (known["eps"].default, known["mode"].default, known["dtype"].default) == (1e-5, "a, b", None)
    assert [each.is_list for each in signature.results] == [False, True]


@pytest.mark.parametrize("line", ["", "name", "name(Tensor x)", "name(Tensor$ x) -> Tensor"])
def test_a_line_that_is_no_signature_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse_signature(line)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", (1, 2)),
        ("size", (Dim.of("N"), 4, Dim.of("2 * N"))),
        ("eps", 0.5),
        ("mode", "text"),
        ("alpha", 2),
        ("alpha", 2.5),
        ("alpha", True),
        ("dtype", f32),
        ("dtype", None),
        ("flag", True),
    ],
)
def test_values_survive_as_attributes(name: str, value: Value) -> None:
    argument = parse_signature(LINE).by_name[name]
    found = value_of(attribute_of(value, argument), argument)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(("name", "value"), [("size", 3), ("eps", "x"), ("size", (1.5,)), ("alpha", 1 << 70)])
def test_values_of_another_type_are_refused(name: str, value: Value) -> None:
    with pytest.raises(TypeError, match=f"`{name}` must be"):
        attribute_of(value, parse_signature(LINE).by_name[name])


def made(arguments: dict[str, object]) -> ForeignOp:
    type = tensor_type(f32, [4])
    values = TestOp(result_types=[type] * 3).results
    named = {
        "self": values[0],
        **{key: values[v] if isinstance(v, int) else v for key, v in arguments.items()},
    }
    return make_op_class("toy", parse_signature(LINE)).make(named, [type, [type, type]])  # type: ignore[list-item]


def test_an_op_has_its_arguments_by_name() -> None:
    op = made({"bias": 1, "size": (3,)})
    op.verify()
    assert op.name == "toy.lib.op.name"
    assert op.tensor("bias") is op.operands[1] and op.tensors("parts") == []
    assert op.value("size") == (3,) and op.value("eps") == 1e-5
    assert "eps" not in op.attributes, "a default is left out"


def test_tensors_of_a_list_may_be_absent() -> None:
    type = tensor_type(f32, [4])
    x, y = TestOp(result_types=[type, type]).results
    cls = make_op_class("toy", parse_signature("lib.index(Tensor self, Tensor?[] indices) -> Tensor"))
    op = cls.make({"self": x, "indices": [None, y, None]}, [type])
    op.verify()
    assert op.tensors("indices") == [None, y, None]


def test_an_argument_that_the_signature_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="has no argument `other`"):
        made({"other": (1,)})
    op = made({})
    op.attributes["other"] = StringAttr("x")
    with pytest.raises(VerifyException, match="has no argument `other`"):
        op.verify()


def test_sizes_take_the_place_of_symbols() -> None:
    op = made({"size": (Dim.of("N"), Dim.of("N + M"))})
    op.substitute({"N": Dim.of(3)})
    assert op.value("size") == (3, Dim.of("M + 3"))


def test_every_line_of_the_table_of_torch_is_a_signature() -> None:
    for name in TABLE:
        assert TABLE.signature(name).name == name


def test_a_module_has_ops_of_one_framework() -> None:
    def module(*ops: str) -> str:
        body = "\n".join(ops)
        return f"func.func @main(%x: tensor<4xf32>) {{\n{body}\nfunc.return\n}}"

    torch = '%a = "torch.aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>'
    onnx = '%b = "onnx.Relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>'
    ctx = StepwellContext()
    assert model_dialect(parse_module(ctx, module())) is None
    assert model_dialect(parse_module(ctx, module(torch))) == "torch"
    with pytest.raises(StepwellError, match="ops of onnx and torch") as caught:
        model_dialect(parse_module(ctx, module(onnx, torch)))
    assert caught.value.code == "mixed-dialects"
