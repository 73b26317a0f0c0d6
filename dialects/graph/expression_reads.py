"""Reads of elements in an expression: indices as sums of axes, and the fusion kind that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from stepwell.dialects.graph.base import Kind
from stepwell.dialects.graph.formula import FormulaOp
from stepwell.runtime.dims import Dim, same_dims


def affine_index(value: SSAValue, axes: Mapping[SSAValue, int]) -> AffineExpr | None:
    """An index of the body as an affine expression of the axes; None for any other."""
    if (axis := axes.get(value)) is not None:
        return AffineExpr.dimension(axis)
    owner = value.owner
    if not isinstance(owner, Operation):
        return None
    number = owner.properties.get("value")
    if owner.name == "arith.constant" and isinstance(number, IntegerAttr):
        return AffineExpr.constant(cast("IntegerAttr[IndexType]", number).value.data)
    if owner.name not in ("arith.addi", "arith.subi", "arith.muli"):
        return None
    left, right = (affine_index(operand, axes) for operand in owner.operands)
    if left is None or right is None:
        return None
    if owner.name == "arith.muli":
        return None if left.used_dims() and right.used_dims() else left * right
    return left + right if owner.name == "arith.addi" else left - right


class ElementRead(NamedTuple):
    """A read of an element in a body: the argument for the tensor, and the indices."""

    tensor: SSAValue
    indices: Sequence[SSAValue]


def extracts_in(op: Operation) -> list[ElementRead]:
    """The reads of elements in an op's regions."""
    reads = [inner.operands for inner in op.walk() if inner.name == "tensor.extract"]
    return [ElementRead(operands[0], operands[1:]) for operands in reads]


def axes_read(op: FormulaOp, value: SSAValue) -> list[tuple[int, ...] | None]:
    """
    The axes along the dimensions of an input, for each read, without dimensions of 1.

    None for a read at other indices, or of dimensions with other extents.
    """
    axes = {index: axis for axis, index in enumerate(op.indices)}
    extents = [*op.axis_dims, *op.reduce_dims]
    positions = {op.tensors[i]: i for i, operand in enumerate(op.inputs) if operand is value}
    found: list[tuple[int, ...] | None] = []
    for read in (read for read in extracts_in(op) if read.tensor in positions):
        pairs = zip(read.indices, op.input_dims(positions[read.tensor]), strict=True)
        longer = [(axes.get(index), dim) for index, dim in pairs if dim != 1]
        known = tuple(axis for axis, dim in longer if axis is not None and dim.proves_equal(extents[axis]))
        found.append(known if len(known) == len(longer) else None)
    return found


def _point(op: FormulaOp, first: int) -> tuple[int, ...]:
    """The first axes, but for those of 1."""
    extents = [*op.axis_dims, *op.reduce_dims]
    return tuple(axis for axis, extent in enumerate(extents[:first]) if extent != 1)


def reads_rows(op: FormulaOp, value: SSAValue, kept: int) -> bool:
    """Whether all reads of an input are at the point itself, or at its place along the first axes."""
    places = _point(op, len(op.axes) + len(op.reduce)), _point(op, kept)
    return all(axes in places for axes in axes_read(op, value))


def whole_input(op: FormulaOp) -> SSAValue | None:
    """The first input that is only read at the point itself, over all axes; None if there is none."""
    point = _point(op, len(op.axes) + len(op.reduce))
    for value in op.inputs:
        if (reads := axes_read(op, value)) and all(axes == point for axes in reads):
            return value
    return None


def kind_of_expression(op: FormulaOp) -> Kind:
    """
    The fusion kind of an expression, by its reads.

    Elementwise and broadcast expressions read their inputs at some of the axes, in order, injective ones at
    any other indices. An expression with reduced axes is a reduction of rows if it reads an input at the
    point itself, else a contraction.
    """
    if len(op.outputs) != 1:
        return Kind.OPAQUE
    if len(op.reduce):
        return Kind.CONTRACTION if whole_input(op) is None else Kind.REDUCTION
    axes = {index: axis for axis, index in enumerate(op.indices)}
    dims = {tensor: op.input_dims(position) for position, tensor in enumerate(op.tensors)}
    kinds = [_kind_of_read(read, axes, dims[read.tensor], op.axis_dims) for read in extracts_in(op)]
    return max(kinds, default=Kind.BROADCAST)


def _kind_of_read(
    read: ElementRead, axes: Mapping[SSAValue, int], dims: Sequence[Dim], shape: Sequence[Dim]
) -> Kind:
    """The kind of a read: of the point itself, along some of the axes in order, or any other."""
    at = [axes.get(index) for index in read.indices]
    longer = [(axis, dim) for axis, dim in zip(at, dims, strict=True) if dim != 1]
    along = [axis for axis, dim in longer if axis is not None and dim.proves_equal(shape[axis])]
    if len(along) < len(longer) or along != sorted(set(along)):
        return Kind.INJECTIVE
    if not same_dims(dims, shape):
        return Kind.BROADCAST
    # A tensor of the same shape is read at the point, or it is moved.
    pairs = enumerate(zip(at, dims, strict=True))
    return Kind.ELEMENTWISE if all(a == axis or dim == 1 for axis, (a, dim) in pairs) else Kind.INJECTIVE
