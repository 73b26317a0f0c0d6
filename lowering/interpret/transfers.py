"""`vector.transfer_read` and `vector.transfer_write`, of tensors and of buffers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import vector
from xdsl.ir.affine import AffineDimExpr

from stepwell.lowering.interpret.engine import Step, Value, implements
from stepwell.lowering.interpret.grids import Array
from stepwell.lowering.interpret.vectors import vector_shape


class _Transfer:
    """
    The part of an array that a transfer covers: an index per dimension, and a range along vector dimensions.
    """

    def __init__(self, op: vector.TransferReadOp | vector.TransferWriteOp, shape: Sequence[int]):
        exprs = op.permutation_map.data.results
        dims = [expr.position if isinstance(expr, AffineDimExpr) else None for expr in exprs]
        ranges = [
            (dim, n, bool(flag.value.data))
            for dim, n, flag in zip(dims, shape, op.in_bounds, strict=True)
            if dim is not None
        ]
        self._ranges = sorted(ranges)
        self.shape = tuple(n for _, n, _ in self._ranges)
        """The vector's extents along array dimensions, in the array's order."""
        in_order = [dim for dim, _, _ in self._ranges]
        self.order = [in_order.index(dim) for dim, _, _ in ranges]
        """The position in `shape` of each vector dimension that is along an array dimension."""
        self.array_order = [self.order.index(axis) for axis in range(len(self.order))]
        """The vector dimension of each position in `shape`."""
        self.repeated = [axis for axis, dim in enumerate(dims) if dim is None]
        """Dimensions of the vector along which one array element is repeated."""

    def window(self, array: Array, indices: Sequence[int]) -> tuple[Array, tuple[slice, ...]]:
        """
        The covered part of the array, cut at its end, and the slices of `shape` that the part fills.

        Raises: IndexError when the transfer exceeds the array along a dimension declared in bounds.
        """
        windows: list[int | slice] = list(indices)
        inside: list[slice] = []
        for dim, n, in_bounds in self._ranges:
            first, extent = indices[dim], array.shape[dim]
            left = max(0, min(n, extent - first))
            if first < 0 or (in_bounds and left < n):
                raise IndexError(f"{n} elements from {first} leave a dimension of extent {extent}")
            windows[dim] = slice(first, first + left)
            inside.append(slice(0, left))
        return array[(*windows, ...)], tuple(inside)


@implements("vector.transfer_read")
def prepare_read(op: vector.TransferReadOp) -> Step:
    """A vector from an array, padded beyond the array's end and where the mask is not set."""
    shape = vector_shape(op.result)
    transfer = _Transfer(op, shape)
    rank = len(op.indices)

    def read(array: Array, *operands: Value) -> Array:
        indices, padding, mask = operands[:rank], operands[rank], operands[rank + 1 :]
        part, inside = transfer.window(array, indices)
        if part.shape == transfer.shape:
            result = part.copy()
        else:
            result = np.full(transfer.shape, padding, array.dtype)
            result[(*inside, ...)] = part
        if mask:
            result = np.where(mask[0], result, padding)
        result = result.transpose(transfer.order)
        if transfer.repeated:
            result = np.broadcast_to(np.expand_dims(result, transfer.repeated), shape)
        return result

    return read


@implements("vector.transfer_write")
def prepare_write(op: vector.TransferWriteOp) -> Step:
    """A vector into an array, or into a copy if it is a tensor; elements out of bounds are not written."""
    transfer = _Transfer(op, vector_shape(op.vector))
    rank = len(op.indices)
    makes_copy = op.result is not None

    def write(x: Array, array: Array, *operands: Value) -> Array | tuple[()]:
        target = array.copy() if makes_copy else array
        part, inside = transfer.window(target, operands[:rank])
        values = np.asarray(x).transpose(transfer.array_order)[(*inside, ...)]
        if len(operands) > rank:
            values = np.where(operands[rank][(*inside, ...)], values, part)
        part[...] = values
        return target if makes_copy else ()

    return write
