"""Ops of plugins: their constructor, their verifier, and definitions that come again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import stepwell as sw
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.plugin import (
    ArrayAttr,
    Attribute,
    AttrSizedOperandSegments,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IRDLOperation,
    Op,
    ParametrizedAttribute,
    SSAValue,
    StringAttr,
    TensorType,
    TypeAttribute,
    UnitAttr,
    VerifyException,
    attr_def,
    attribute,
    f32,
    f64,
    graph,
    i1,
    i32,
    i64,
    op,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    tensor_type,
    var_operand_def,
)
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


@op("test_ops.all")
class AllOp(Op):
    """An op with operands and attributes of all kinds."""

    first = operand_def(TensorType)
    second = opt_operand_def(TensorType)
    rest = var_operand_def(TensorType)
    result = result_def(TensorType)
    other = result_def(TensorType)

    size = prop_def(IntegerAttr.constr(i32))
    scale = prop_def(FloatAttr.constr(f32), default_value=FloatAttr(1.0, f32))
    numbers = opt_prop_def(DenseArrayBase.constr(f64))
    places = opt_prop_def(DenseArrayBase.constr(i64))
    names = opt_prop_def(ArrayAttr[StringAttr])
    flag = opt_prop_def(UnitAttr)
    truth = opt_prop_def(IntegerAttr.constr(i1))
    kind = attr_def(StringAttr, default_value=StringAttr("plain"))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def infer(self) -> Sequence[Attribute]:
        return [self.first.type, tensor_type(f64, [len(self.rest)])]


def values(count: int) -> list[SSAValue]:
    """Values of different shapes."""
    return [graph.ConstantOp.of(np.zeros(n + 1, np.float32), WeightStore()).result for n in range(count)]


def test_operands_by_position() -> None:
    a, b, c, d = values(4)
    made = AllOp(a, b, [c, d], size=3)
    assert (made.first, made.second, list(made.rest)) == (a, b, [c, d])
    assert made.result.type == a.type and made.other.type == tensor_type(f64, [2])
    made.verify()
    made = AllOp(a, size=3)
    assert made.second is None and not made.rest
    made = AllOp(a, None, [b], size=3)
    assert made.second is None and list(made.rest) == [b]
    made.verify()


def test_attributes_are_python_values() -> None:
    (a,) = values(1)
    given = {"numbers": [1, 2.5], "places": (3, 4), "names": ["x"], "flag": True, "truth": True}
    made = AllOp(a, size=3, scale=2, kind="other", **given)
    assert made.size == IntegerAttr(3, i32) and made.scale == FloatAttr(2.0, f32)
    assert made.numbers == DenseArrayBase.from_list(f64, [1.0, 2.5])
    assert made.places == DenseArrayBase.from_list(i64, [3, 4])
    assert made.names == ArrayAttr([StringAttr("x")])
    assert made.flag == UnitAttr() and made.truth == IntegerAttr(1, i1)
    assert made.kind == StringAttr("other")
    made.verify()
    plain = AllOp(a, size=3, numbers=None)
    assert plain.numbers is None and plain.scale == FloatAttr(1.0, f32) and plain.kind.data == "plain"


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "test_ops.all needs the attribute `size`"),
        ({"size": 3, "sizes": 3}, "test_ops.all has no attribute `sizes`; did you mean size"),
        ({"size": "three"}, '"three" should be of base attribute integer'),
        ({"size": 1 << 40}, "Expected attribute i32 but got i64"),
    ],
)
def test_attributes_that_the_op_does_not_take(attributes: dict[str, str | int], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        AllOp(*values(1), **attributes).verify()


@op("test_ops.checked")
class CheckedOp(Op):
    """An op of two operands, with a constraint that reads its attribute."""

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    result = result_def(TensorType)
    scale = prop_def(FloatAttr.constr(f32))

    def check(self) -> None:
        if self.scale.value.data < 0:
            raise VerifyException("no scale")


CHECKED = r"test_ops.checked has 2 operands \(a, b\), found "
CONSTRUCTORS: dict[str, tuple[Callable[[Any, SSAValue], object], str]] = {
    "one": (lambda made, x: made(x, scale=1.0), CHECKED + "1; attributes are given by name"),
    "three": (lambda made, x: made(x, x, x, scale=1.0), CHECKED + "3"),
    "an attribute by position": (lambda made, x: made(x, x, 1.0), CHECKED + "1.0; attributes are"),
    "in another order": (lambda made, x: made(1.0, x, x), CHECKED + "1.0; attributes are"),
    "text": (lambda made, x: made("x", x, scale=1.0), CHECKED + "'x'"),
    "kind": (lambda made, x: made(x, x, scale="a"), 'test_ops.checked: attribute `scale`: "a" should be'),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_arguments_that_a_constructor_does_not_take(name: str) -> None:
    call, message = CONSTRUCTORS[name]
    with pytest.raises(VerifyException, match=message):
        call(CheckedOp, *values(1))


@op("test_ops.inferring")
class InferringOp(Op):
    """An op whose type relation gives what its attribute names."""

    x = operand_def(TensorType)
    result = result_def(TensorType)
    relation = prop_def(StringAttr)

    def infer(self) -> Any:
        type = self.x.type
        relations: dict[str, object] = {"one": type, "list": [type], "tuple": (type,), "two": [type, type]}
        relations |= {"text": "f32", "texts": ["f32"], "nothing": None, "empty": []}
        return relations[self.relation.data]


@pytest.mark.parametrize("relation", ["one", "list", "tuple"])
def test_a_type_relation_gives_one_type_or_several(relation: str) -> None:
    (x,) = values(1)
    made = InferringOp(x, relation=relation)
    made.verify()
    assert made.result.type == x.type


@pytest.mark.parametrize(
    ("relation", "found"),
    [
        ("two", "must give the types of 1 results, found tensor<1xf32>, tensor<1xf32>"),
        ("empty", "must give the types of 1 results, found none"),
        ("text", "must give types, found 'f32'"),
        ("texts", r"must give types, found \['f32'\]"),
        ("nothing", "must give types, found None"),
    ],
)
def test_a_type_relation_that_gives_something_else(relation: str, found: str) -> None:
    with pytest.raises(VerifyException, match=f"`infer` of InferringOp {found}"):
        InferringOp(*values(1), relation=relation)


@op("test_ops.source")
class SourceOp(Op):
    """An op without operands, whose type nothing says."""

    result = result_def(TensorType)


def test_a_result_without_a_type() -> None:
    with pytest.raises(VerifyException, match="test_ops.source has no operand whose type its results have"):
        SourceOp()


@attribute("test_ops.window")
class WindowAttr(ParametrizedAttribute):
    """An attribute of a plugin."""

    size: IntegerAttr = param_def()


@attribute("test_ops.picture")
class PictureType(ParametrizedAttribute, TypeAttribute):
    """A type of a plugin."""


@op("test_ops.load")
class LoadOp(IRDLOperation):
    """A plain xDSL op, with an attribute and a type of the dialect."""

    window = prop_def(WindowAttr)
    result = result_def(PictureType)


TEXT = """builtin.module {
  %0 = "test_ops.load"() <{window = #test_ops.window<3 : i64>}> : () -> !test_ops.picture
}"""


def test_attributes_and_types_in_text() -> None:
    module = parse_module(StepwellContext(), TEXT)
    assert str(module) == TEXT
    verify_module(module)
    (load,) = module.ops
    assert isinstance(load, LoadOp) and load.window.size == IntegerAttr(3, i64)


def test_a_dialect_that_no_plugin_has_brought() -> None:
    for text, what in (
        (TEXT.replace("test_ops.load", "test_missing.load"), "no dialect has an op test_missing.load"),
        (TEXT.replace("!test_ops", "!test_missing"), "'test_missing.picture' is not registered"),
    ):
        with pytest.raises(StepwellError, match=what) as caught:
            parse_module(StepwellContext(), text)
        assert str(caught.value.help).startswith("if a plugin defines the dialect `test_missing`: `--load ")
    with pytest.raises(StepwellError, match="no dialect has an op test_ops.lod") as caught:
        parse_module(StepwellContext(), TEXT.replace("test_ops.load", "test_ops.lod"))
    assert caught.value.help is None


CELL = """
import stepwell.plugin as sw
@sw.op("test_cells.twice")
class TwiceOp(sw.Op):
    x = sw.operand_def(sw.TensorType)
    result = sw.result_def(sw.TensorType)
"""
LOWER = """
@sw.lower(TwiceOp)
def twice(op, rewriter):
    return sw.graph.AddOp(op.x, op.x)
"""
PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "test_cells.twice"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""


def test_cells_of_a_notebook_that_run_again() -> None:
    """An op that is defined again keeps its lowering, and the other way round."""
    cells = {"__name__": "__main__"}
    for cell in (CELL, LOWER, CELL, LOWER, LOWER, CELL):
        exec(cell, cells)
        if "twice" in cells:
            found = sw.parse(PROGRAM).compile()(np.ones(4, np.float32))
            np.testing.assert_array_equal(np.asarray(found), 2 * np.ones(4))


def test_ops_are_made_by_patterns_again() -> None:
    """As those of ours: with other operands, types inferred."""
    a, b = values(2)
    made: Operation = AllOp(a, size=3).on([b])
    assert isinstance(made, AllOp) and made.result.type == b.type
