"""
The base class of the patterns from `onnx`, with constant operands, axes, element types and new constants.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


@dataclass
class OnnxLowering(RewritePattern):
    """A pattern of the conversion from `onnx`, with access to converted operands and weights."""

    ON_HOST: ClassVar[bool] = False
    """Whether the host computes the pattern's operators, not compiled code."""

    operators: ClassVar[Collection[str]] = ()
    """The operators of a table-driven pattern, whose method is typed for any op."""

    weights: WeightStore
    patterns: PatternSet = field(default_factory=lambda: PatternSet(()))
    """All patterns of the conversion, for the graphs of an operator."""

    def array(self, value: SSAValue | None) -> Array | None:
        """The array of a constant operand; None for any other operand, and for an absent one."""
        return None if value is None else constant_of(value, self.weights)

    def integers(self, value: SSAValue | None) -> tuple[int, ...] | None:
        """The numbers of a constant operand, flattened; None for any other operand, and for an absent one."""
        array = self.array(value)
        return None if array is None else tuple(int(v) for v in array.reshape(-1))

    def constant(self, array: npt.NDArray[np.generic], rewriter: PatternRewriter) -> SSAValue:
        """An array as a constant of the graph."""
        return rewriter.insert(graph.ConstantOp.of(array, self.weights)).result

    def scalar(self, number: float, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
        """A number as a constant of rank 0."""
        return self.constant(np.array(number).astype(dtype_of(element)), rewriter)

    def as_scalar(
        self, value: SSAValue | None, op: onnx.OnnxOp, rewriter: PatternRewriter
    ) -> SSAValue | None:
        """An operand of a single element, reshaped to rank 0; None for an absent one."""
        if value is None or rank_of(value, op) == 0:
            return value
        if (array := self.array(value)) is not None and array.size == 1:
            return self.constant(array.reshape(()), rewriter)
        return emit(graph.ReshapeOp(value, []), rewriter)


def emit(op: Operation, rewriter: PatternRewriter) -> SSAValue:
    """Insert an op; returns its first result."""
    return rewriter.insert(op).results[0]


# ONNX's numbers for element types (TensorProto.DataType), then the names of Cast's attribute below opset 6.
_ELEMENTS: Mapping[int, Attribute] = {
    1: f32,
    2: IntegerType(8, Signedness.UNSIGNED),
    3: IntegerType(8),
    4: IntegerType(16, Signedness.UNSIGNED),
    5: IntegerType(16),
    6: i32,
    7: i64,
    9: i1,
    10: f16,
    11: f64,
    12: IntegerType(32, Signedness.UNSIGNED),
    13: IntegerType(64, Signedness.UNSIGNED),
    16: bf16,
    17: Float8E4M3FNType(),
    18: Float8E4M3FNUZType(),
    19: Float8E5M2Type(),
    20: Float8E5M2FNUZType(),
    21: IntegerType(4, Signedness.UNSIGNED),
    22: IntegerType(4),
    23: Float4E2M1FNType(),
    24: Float8E8M0FNUType(),
    25: IntegerType(2, Signedness.UNSIGNED),
    26: IntegerType(2),
    27: Float6E2M3FNType(),
    28: Float6E3M2FNType(),
}
ELEMENT_NUMBERS: Mapping[Attribute, int] = {element: number for number, element in _ELEMENTS.items()}
"""Maps element types to ONNX's numbers."""
_ELEMENT_NAMES = {
    "FLOAT": 1,
    "UINT8": 2,
    "INT8": 3,
    "UINT16": 4,
    "INT16": 5,
    "INT32": 6,
    "INT64": 7,
    "BOOL": 9,
    "FLOAT16": 10,
    "DOUBLE": 11,
    "UINT32": 12,
    "UINT64": 13,
}


def element_type(code: int | str, op: onnx.OnnxOp) -> Attribute:
    """
    The element type that an attribute of ONNX names.

    Raises: StepwellError `unsupported` for a type without support in `graph`.
    """
    number = _ELEMENT_NAMES.get(code, 0) if isinstance(code, str) else code
    if number not in _ELEMENTS:
        raise StepwellError("unsupported", op, f"{op.op_type}: element type {code} is not supported yet")
    return _ELEMENTS[number]


def element_of(value: SSAValue) -> Attribute:
    """The element type of a converted operand."""
    return tensor_of(value).element_type


def as_f32(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A tensor as f32, the type of computation and result of most operators of `ai.onnx.ml`."""
    return value if element_of(value) == f32 else emit(graph.CastOp(value, f32), rewriter)


def required_attribute(op: onnx.OnnxOp, name: str) -> Attribute:
    """An attribute of any kind. Raises: StepwellError `invalid-model` when the operator has none."""
    if (value := op.attribute(name)) is None:
        raise StepwellError("invalid-model", op, f"{op.op_type} needs the attribute {name}")
    return value


def has_strings(op: onnx.OnnxOp) -> bool:
    """Whether an operator has operands of strings, which only the host computes."""
    tensors = [operand for operand in op.operands if isinstance(operand.type, TensorType)]
    return any(isinstance(element_of(tensor), onnx.StringType) for tensor in tensors)


def rank_of(value: SSAValue, op: onnx.OnnxOp) -> int:
    """
    The rank of a converted operand.

    Raises: StepwellError `unsupported-dynamic-rank` when it is unknown.
    """
    return len(shape_of(value, op))


def shape_of(value: SSAValue, op: onnx.OnnxOp) -> tuple[Dim, ...]:
    """
    The dimensions of a converted operand.

    Raises: StepwellError `unsupported-dynamic-rank` when even their number is unknown.
    """
    if not isinstance(value.type, TensorType):
        raise StepwellError(
            "unsupported-dynamic-rank",
            op,
            f"{op.op_type}: the rank of an input of type {value.type} is unknown",
            help="declare the shapes of the model's inputs, or that of this value in `value_info`",
        )
    return dims_of(tensor_of(value))


def normalized_axis(axis: int, rank: int, op: onnx.OnnxOp) -> int:
    """An axis counted from the front. Raises: StepwellError `invalid-model` when it is out of range."""
    if not -rank <= axis < rank:
        raise StepwellError(
            "invalid-model", op, f"{op.op_type}: axis must be in {-rank}..{rank - 1}, found {axis}"
        )
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int, op: onnx.OnnxOp) -> list[int]:
    """Axes counted from the front, sorted, without repetition."""
    return sorted({normalized_axis(axis, rank, op) for axis in axes})
