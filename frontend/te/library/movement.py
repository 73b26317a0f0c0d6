"""Operators of the library that move, repeat and make elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from stepwell.frontend.te.expressions import Axis, Expr, Number, Size
from stepwell.frontend.te.functions import cast_to, clamped, conjunction, dtype_named, if_then_else
from stepwell.frontend.te.library.shapes import axis_in, element, inserted
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import SizeLike, Tensor, compute, dim_of
from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    import numpy.typing as npt


def full(shape: Sequence[SizeLike], value: float, dtype: npt.DTypeLike = "float32") -> Tensor:
    """A tensor with one number everywhere."""
    return compute(shape, lambda *i: Number(value, dtype_named(dtype)), name="full")


def iota(size: SizeLike, dtype: npt.DTypeLike = "int64") -> Tensor:
    """The numbers 0, 1, 2, …"""
    return compute((size,), lambda *i: cast_to(i[0], dtype), name="iota")


def eye(size: SizeLike, dtype: npt.DTypeLike = "float32") -> Tensor:
    """The identity matrix."""
    return compute((size, size), lambda *i: cast_to(i[0] == i[1], dtype), name="eye")


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with 0 above a diagonal."""
    return compute(x.dims, lambda *i: if_then_else(i[-1] <= i[-2] + diagonal, x[i], 0), name="tril")


def broadcast_to(x: Tensor, shape: Sequence[SizeLike]) -> Tensor:
    """A tensor repeated along dimensions of 1 and new ones before."""
    return compute(shape, lambda *i: element(x, i), name="broadcast_to")


def transpose(x: Tensor, perm: Sequence[int] | None = None) -> Tensor:
    """A tensor with its dimensions in another order, by default the reverse."""
    order = list(range(x.ndim))[::-1] if perm is None else [axis_in(axis, x.ndim) for axis in perm]
    if sorted(order) != list(range(x.ndim)):
        raise FormulaError("te-type", f"perm has each of {x.ndim} dimensions once, found {list(order)}")
    shape = [x.dims[axis] for axis in order]
    return compute(shape, lambda *i: x[tuple(i[order.index(a)] for a in range(x.ndim))], name="transpose")


def expand_dims(x: Tensor, axis: int) -> Tensor:
    """A tensor with a dimension of 1 more."""
    at = axis_in(axis, x.ndim + 1)
    shape = [*x.dims[:at], Dim.of(1), *x.dims[at:]]
    return compute(shape, lambda *i: x[(*i[:at], *i[at + 1 :])], name="expand_dims")


def squeeze(x: Tensor, axis: int) -> Tensor:
    """A tensor without a dimension of 1."""
    at = axis_in(axis, x.ndim)
    if x.dims[at] != 1:
        raise FormulaError("te-type", f"dimension {at} of {x.name} is {x.dims[at]}, expected 1")
    return compute([*x.dims[:at], *x.dims[at + 1 :]], lambda *i: x[inserted(i, at, 0)], name="squeeze")


def flip(x: Tensor, axis: int) -> Tensor:
    """A tensor with one dimension in reverse."""
    at = axis_in(axis, x.ndim)
    last = Size(x.dims[at] - 1)
    return compute(x.dims, lambda *i: x[(*i[:at], last - i[at], *i[at + 1 :])], name="flip")


def repeat(x: Tensor, count: int, axis: int) -> Tensor:
    """A tensor with each slice along an axis repeated."""
    at = axis_in(axis, x.ndim)
    shape = [dim * count if a == at else dim for a, dim in enumerate(x.dims)]
    return compute(shape, lambda *i: x[(*i[:at], i[at] // count, *i[at + 1 :])], name="repeat")


def tile(x: Tensor, counts: Sequence[int]) -> Tensor:
    """A tensor repeated along each dimension."""
    shape = [dim * count for dim, count in zip(x.dims, counts, strict=True)]

    def at(*axes: Axis) -> Any:
        sizes = zip(axes, x.dims, counts, strict=True)
        return clamped(x[tuple(a if count == 1 else a % Size(dim) for a, dim, count in sizes)])

    return compute(shape, at, name="tile")


def pad(x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0) -> Tensor:
    """A tensor with a number around it."""
    shape = [low + dim + high for low, dim, high in zip(before, x.dims, after, strict=True)]

    def padded(*axes: Axis) -> Any:
        parts: list[Expr] = []
        for axis, low, dim, high in zip(axes, before, x.dims, after, strict=True):
            parts += [axis >= low] * bool(low) + [axis < Size(dim + low)] * bool(high)
        inside = x[tuple(axis - low if low else axis for axis, low in zip(axes, before, strict=True))]
        return if_then_else(conjunction(*parts), inside, value) if parts else inside

    return compute(shape, padded, name="pad")


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis."""
    first = tensors[0]
    at = axis_in(axis, first.ndim)
    starts = [sum((t.dims[at] for t in tensors[:k]), Dim.of(0)) for k in range(len(tensors))]

    def joined(*axes: Axis) -> Any:
        parts = [
            tensor[(*axes[:at], axes[at] - Size(start), *axes[at + 1 :])]
            for tensor, start in zip(tensors, starts, strict=True)
        ]
        found: Any = parts[-1]
        for part, end in reversed(list(zip(parts[:-1], starts[1:], strict=True))):
            found = if_then_else(axes[at] < Size(end), part, found)
        return found

    total = starts[-1] + tensors[-1].dims[at]
    shape = [total if a == at else dim for a, dim in enumerate(first.dims)]
    return compute(shape, joined, name="concat")


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors along a new axis."""
    return concat([expand_dims(tensor, axis) for tensor in tensors], axis)


def take(x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
    """Slices of a tensor at indices along an axis; an index outside takes the nearest slice."""
    at, count = axis_in(axis, x.ndim), indices.ndim
    shape = [*x.dims[:at], *indices.dims, *x.dims[at + 1 :]]

    def taken(*axes: Axis) -> Any:
        index = indices[axes[at : at + count]]
        return clamped(x[(*axes[:at], index, *axes[at + count :])])

    return compute(shape, taken, name="take")


def one_hot(indices: Tensor, depth: int, dtype: npt.DTypeLike = "float32") -> Tensor:
    """1 where the last index is the number that is given, else 0."""
    return compute(
        [*indices.dims, Dim.of(depth)],
        lambda *i: cast_to(cast_to(indices[i[:-1]], "int64") == i[-1], dtype),
        name="one_hot",
    )


def reshape(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of known shape in another one, in row-major order."""
    dims = [dim_of(size) for size in shape]
    known = [dim.value for dim in (*x.dims, *dims) if dim.is_static]
    if len(known) < x.ndim + len(dims) or prod(known[: x.ndim]) != prod(known[x.ndim :]):
        raise FormulaError("te-type", f"{x.name} of shape {list(x.dims)} cannot have the shape {list(shape)}")
    sizes = known[: x.ndim]

    def moved(*axes: Axis) -> Any:
        flat: Any = Number(0, "int64")
        for axis, size in zip(axes, shape, strict=True):
            flat = flat * size + axis
        strides = [prod(sizes[a + 1 :]) for a in range(x.ndim)]
        return x[tuple((flat // by) % size for by, size in zip(strides, sizes, strict=True))]

    return compute(dims, moved, name="reshape")
