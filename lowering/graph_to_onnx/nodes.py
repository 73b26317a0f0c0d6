"""Nodes of ONNX in the IR: operands and results by position in the exported opset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import onnx
from stepwell.dialects.constants import inline_attr
from stepwell.dialects.onnx.base import default_attribute
from stepwell.dialects.types import tensor_type

OPSET = 21
"""The exported opset: engines of today run all of it."""
ML = "ai.onnx.ml"
ML_OPSET = 4
"""The opset of `ai.onnx.ml`: the last one with the operators of tree ensembles that every engine has."""
ML_OPSET_OF_DOUBLES = 5
"""That of models with trees of f64, which the older operators would round."""

AttributeLike: TypeAlias = (
    int | float | str | Sequence[int] | Sequence[float] | Sequence[str] | Attribute | None
)


def insert_nodes(
    rewriter: PatternRewriter,
    op_class: type[onnx.OnnxOp],
    operands: Sequence[SSAValue | None],
    types: Sequence[Attribute],
    **attributes: AttributeLike,
) -> list[SSAValue]:
    """
    Insert an operator; returns its results.

    Args: `operands` and `types` of results by position, None for an absent operand; attributes by ONNX's
    name, None for an absent one.
    """
    row = onnx.signature(op_class.name, ML_OPSET_OF_DOUBLES if onnx.domain_of(op_class.name) == ML else OPSET)
    assert row is not None, f"opset {OPSET} has no {op_class.name}"
    operand_names, result_names = onnx.parameter_names(op_class)
    inputs = {name: list[SSAValue]() for name in operand_names}
    for position, value in enumerate(operands):
        if value is not None:
            inputs[row.inputs[min(position, len(row.inputs) - 1)].name].append(value)
    outputs = {name: list[Attribute]() for name in result_names}
    for position, type in enumerate(types):
        outputs[row.outputs[min(position, len(row.outputs) - 1)].name].append(type)
    made = op_class.build(
        operands=[inputs[name] for name in operand_names],
        result_types=[outputs[name] for name in result_names],
        properties={
            name: value
            if isinstance(value, Attribute)
            else default_attribute(row.attributes[name].kind, _plain(value))
            for name, value in attributes.items()
            if value is not None
        },
    )
    return list(rewriter.insert(made).results)


def insert_node(
    rewriter: PatternRewriter,
    op_class: type[onnx.OnnxOp],
    operands: Sequence[SSAValue | None],
    type: Attribute,
    **attributes: AttributeLike,
) -> SSAValue:
    """Insert an operator of one output; returns its result."""
    return insert_nodes(rewriter, op_class, operands, [type], **attributes)[0]


def replace_by_node(
    rewriter: PatternRewriter,
    op: Operation,
    op_class: type[onnx.OnnxOp],
    operands: Sequence[SSAValue | None],
    **attributes: AttributeLike,
) -> None:
    """Replace an op by an operator with results of the same types."""
    types = [result.type for result in op.results]
    rewriter.replace(op, [], insert_nodes(rewriter, op_class, operands, types, **attributes))


def insert_constant(rewriter: PatternRewriter, array: npt.NDArray[np.generic]) -> SSAValue:
    """Insert a few numbers as a node `Constant`."""
    value = inline_attr(array)
    made = onnx.ConstantOp.build(result_types=[value.type], properties={"value": value})
    return rewriter.insert(made).results[0]


def insert_integers(rewriter: PatternRewriter, numbers: Sequence[int]) -> SSAValue:
    """Insert a constant vector of i64."""
    return insert_constant(rewriter, np.array(numbers, np.int64))


def vector_type(count: int) -> Attribute:
    """The type of a vector of i64."""
    return tensor_type(i64, [count])


def _plain(value: int | float | str | Sequence[int] | Sequence[float] | Sequence[str]) -> object:
    """An attribute as `default_attribute` expects it: sequences as tuples, truth values as numbers."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float | str) else tuple(value)
