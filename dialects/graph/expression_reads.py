"""Reads of elements in an expression: indices as sums of axes, and the fusion kind that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from stepwell.dialects.graph.base import Kind
from stepwell.runtime.dims import Dim, same_dims

if TYPE_CHECKING:
    from stepwell.dialects.graph.expression import ExpressionOp


def affine_index(value: SSAValue, axes: Mapping[SSAValue, int]) -> AffineExpr | None:
    """An index of the body as an affine expression of the axes; None for any other."""
    if (axis := axes.get(value)) is not None:
        return AffineExpr.dimension(axis)
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return AffineExpr.constant(owner.value.value.data)
    if not isinstance(owner, arith.AddiOp | arith.SubiOp | arith.MuliOp):
        return None
    left, right = (affine_index(operand, axes) for operand in owner.operands)
    if left is None or right is None:
        return None
    if isinstance(owner, arith.MuliOp):
        return None if left.used_dims() and right.used_dims() else left * right
    return left + right if isinstance(owner, arith.AddiOp) else left - right


def extracts_in(op: Operation) -> list[tensor.ExtractOp]:
    """The reads of elements in an op's regions."""
    return [inner for inner in op.walk() if isinstance(inner, tensor.ExtractOp)]


def kind_of_expression(op: ExpressionOp) -> Kind:
    """
    The fusion kind of an expression, by its reads.

    Elementwise and broadcast ones read their inputs as numpy broadcasts them, injective ones at any other
    indices; a sum over axes is a contraction, whose results may have elementwise users in its kernel.
    """
    if len(op.outputs) != 1:
        return Kind.OPAQUE
    if len(op.reduce):
        return Kind.CONTRACTION
    axes = {index: axis for axis, index in enumerate(op.indices)}
    known = dict(zip(op.tensors, map(op.input_dims, range(len(op.inputs))), strict=True))
    kinds = [_kind_of_read(read, axes, known[read.tensor], op.axis_dims) for read in extracts_in(op)]
    return max(kinds, default=Kind.BROADCAST)


def _kind_of_read(
    read: tensor.ExtractOp, axes: Mapping[SSAValue, int], dims: Sequence[Dim], shape: Sequence[Dim]
) -> Kind:
    """The kind of a read: of the point itself, of a tensor aligned at the right, or any other."""
    if len(dims) > len(shape):
        return Kind.INJECTIVE
    for axis, (value, dim) in enumerate(zip(read.indices, dims, strict=True), len(shape) - len(dims)):
        index = affine_index(value, axes)
        is_point = isinstance(index, AffineDimExpr) and index.position == axis
        if not (is_point and dim.proves_equal(shape[axis])) and not (dim == 1 and shape[axis] != 1):
            return Kind.INJECTIVE
    return Kind.ELEMENTWISE if same_dims(dims, shape) else Kind.BROADCAST
