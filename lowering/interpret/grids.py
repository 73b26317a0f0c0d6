"""Operands of structured ops with one dimension per loop: strided views for linear indices, else gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

Array = npt.NDArray[Any]


def loop_extents(maps: Sequence[AffineMap], operands: Sequence[Any]) -> list[int]:
    """
    The number of iterations of each loop, from the operands that are indexed by the loop alone.

    Raises: ValueError for a loop whose extent no operand gives, or for which two operands differ.
    """
    extents: list[int | None] = [None] * maps[0].num_dims
    for map, operand in zip(maps, operands, strict=True):
        for position, expr in enumerate(map.results):
            if isinstance(expr, AffineDimExpr):
                size = operand.shape[position]
                if extents[expr.position] not in (None, size):
                    raise ValueError(f"loop {expr.position} has extents {extents[expr.position]} and {size}")
                extents[expr.position] = size
    if None in extents:
        raise ValueError(f"no operand gives the extent of loop {extents.index(None)}")
    return [extent for extent in extents if extent is not None]


def linear_form(expr: AffineExpr, loops: int) -> tuple[list[int], int] | None:
    """An affine expression as a coefficient per loop and a constant; None when it divides."""
    match expr:
        case AffineConstantExpr(value):
            return [0] * loops, value
        case AffineDimExpr(position):
            return [int(d == position) for d in range(loops)], 0
        case AffineBinaryOpExpr(kind, left, right):
            a, b = linear_form(left, loops), linear_form(right, loops)
            if a is None or b is None:
                return None
            if kind == AffineBinaryOpKind.Add:
                return [x + y for x, y in zip(a[0], b[0], strict=True)], a[1] + b[1]
            if kind == AffineBinaryOpKind.Mul:
                form, factor = (a, b[1]) if not any(b[0]) else (b, a[1])
                return [x * factor for x in form[0]], form[1] * factor
            return None
        case _:
            return None


def along_loops(array: Array, map: AffineMap, extents: Sequence[int]) -> Array:
    """
    An operand as an array with one dimension per loop, of extent 1 along loops without effect on the indices.

    A view when the indices are linear; a view of an output may be written.
    Raises: IndexError when an index is out of the operand's bounds.
    """
    forms = [linear_form(expr, map.num_dims) for expr in map.results]
    linear = [form for form in forms if form is not None]
    if len(linear) < len(forms):
        return array[_indices(array, map, extents)]
    starts: list[slice] = []
    strides = [0] * map.num_dims
    for axis, (coefficients, offset) in enumerate(linear):
        reach = [c * (n - 1) for c, n in zip(coefficients, extents, strict=True)]
        first, last = offset + sum(r for r in reach if r < 0), offset + sum(r for r in reach if r > 0)
        _check(first, last, array.shape[axis])
        starts.append(slice(offset, None))
        strides = [s + c * array.strides[axis] for s, c in zip(strides, coefficients, strict=True)]
    used = map.used_dims()
    shape = [n if d in used else 1 for d, n in enumerate(extents)]
    return np.lib.stride_tricks.as_strided(array[(*starts, ...)], shape, strides)


def _indices(array: Array, map: AffineMap, extents: Sequence[int]) -> tuple[Any, ...]:
    """The indices of an operand for all iterations, as arrays that broadcast over the loops."""
    grid = index_grid(extents)
    indices = tuple(_evaluate(expr, grid) for expr in map.results)
    for index, size in zip(indices, array.shape, strict=True):
        _check(int(np.min(index)), int(np.max(index)), size)
    rank = len(extents)
    return tuple(np.asarray(index).reshape(np.shape(index) or (1,) * rank) for index in indices)


def index_grid(extents: Sequence[int]) -> list[Array]:
    """The index along each loop, shaped to broadcast over all of them."""
    rank = len(extents)
    return [
        np.arange(n).reshape([n if d == axis else 1 for d in range(rank)]) for axis, n in enumerate(extents)
    ]


def _evaluate(expr: AffineExpr, grid: Sequence[Array]) -> Any:
    """The values of an affine expression for all iterations."""
    match expr:
        case AffineConstantExpr(value):
            return value
        case AffineDimExpr(position):
            return grid[position]
        case AffineBinaryOpExpr(kind, left, right):
            a, b = _evaluate(left, grid), _evaluate(right, grid)
            match kind:
                case AffineBinaryOpKind.Add:
                    return a + b
                case AffineBinaryOpKind.Mul:
                    return a * b
                case AffineBinaryOpKind.FloorDiv:
                    return a // b
                case AffineBinaryOpKind.CeilDiv:
                    return -(-a // b)
                case AffineBinaryOpKind.Mod:
                    return a % b
        case _:
            raise TypeError(f"affine expression {expr}")


def _check(first: int, last: int, size: int) -> None:
    """Raises: IndexError for a range of indices that is out of bounds."""
    if first < 0 or last >= size:
        raise IndexError(f"indices {first}..{last} leave a dimension of extent {size}")
