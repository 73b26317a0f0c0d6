"""Slices of tensors, extracted and inserted, and elements read at computed positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Read,
    empty,
    extent,
    generic,
    identity,
    loop_index,
)
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim

Positions: TypeAlias = "Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits the indices of an element to read, from the indices of the loops and a scalar of each operand."""


_Offsets: TypeAlias = tuple[list[SSAValue], DenseArrayBase]
"""The dynamic operands and the static numbers of one parameter of a slice op."""


def _operands(dims: Sequence[Dim], rewriter: PatternRewriter) -> _Offsets:
    """Dimensions as a parameter of a slice op."""
    dynamic = [extent(dim, rewriter) for dim in dims if not dim.is_static]
    static = [dim.value if dim.is_static else DYNAMIC_INDEX for dim in dims]
    return dynamic, DenseArrayBase.from_list(i64, static)


def _computed(at: Mapping[int, SSAValue | int], rank: int) -> _Offsets:
    """The indices of some axes, and 0 for the others, as a parameter of a slice op."""
    indices = [at.get(axis, 0) for axis in range(rank)]
    static = [index if isinstance(index, int) else DYNAMIC_INDEX for index in indices]
    return [i for i in indices if not isinstance(i, int)], DenseArrayBase.from_list(i64, static)


def _slice(
    offsets: _Offsets, dims: Sequence[Dim], steps: Sequence[int], rewriter: PatternRewriter
) -> tuple[list[Sequence[SSAValue]], dict[str, Attribute]]:
    """The dynamic operands and the properties of a slice op."""
    offset_values, static_offsets = offsets
    size_values, static_sizes = _operands(dims, rewriter)
    return [offset_values, size_values, []], {
        "static_offsets": static_offsets,
        "static_sizes": static_sizes,
        "static_strides": DenseArrayBase.from_list(i64, steps),
    }


def _extracted(
    value: SSAValue, offsets: _Offsets, dims: Sequence[Dim], steps: Sequence[int], rewriter: PatternRewriter
) -> SSAValue:
    """A slice of a tensor: `tensor.extract_slice`."""
    operands, properties = _slice(offsets, dims, steps, rewriter)
    type = tensor_type(element_of_value(value), dims)
    op = tensor.ExtractSliceOp.build(operands=[value, *operands], result_types=[type], properties=properties)
    return rewriter.insert(op).result


def _inserted(piece: SSAValue, into: SSAValue, offsets: _Offsets, rewriter: PatternRewriter) -> SSAValue:
    """A tensor with a slice of it replaced: `tensor.insert_slice`."""
    dims = dims_of(piece.type)
    operands, properties = _slice(offsets, dims, [1] * len(dims), rewriter)
    op = tensor.InsertSliceOp.build(
        operands=[piece, into, *operands], result_types=[into.type], properties=properties
    )
    return rewriter.insert(op).result


def cut(
    value: SSAValue,
    offsets: Sequence[Dim],
    sizes: Sequence[Dim],
    steps: Sequence[int],
    rewriter: PatternRewriter,
) -> SSAValue:
    """A slice of a tensor, every `step`-th element: `tensor.extract_slice`."""
    return _extracted(value, _operands(offsets, rewriter), sizes, steps, rewriter)


def paste(piece: SSAValue, into: SSAValue, offsets: Sequence[Dim], rewriter: PatternRewriter) -> SSAValue:
    """A tensor with a slice of it replaced: `tensor.insert_slice`."""
    return _inserted(piece, into, _operands(offsets, rewriter), rewriter)


def layer_of(
    value: SSAValue,
    at: Mapping[int, SSAValue],
    rewriter: PatternRewriter,
    lengths: Mapping[int, int] | None = None,
) -> SSAValue:
    """
    The slice of a tensor at one computed index of some axes, which remain as dimensions of 1.

    `lengths` gives the extents of those axes along which the slice is longer; the computed index is its first
    one.
    """
    dims = [
        Dim.of((lengths or {}).get(axis, 1)) if axis in at else dim
        for axis, dim in enumerate(dims_of(value.type))
    ]
    return _extracted(value, _computed(at, len(dims)), dims, [1] * len(dims), rewriter)


def with_layer(
    piece: SSAValue, into: SSAValue, at: Mapping[int, SSAValue | int], rewriter: PatternRewriter
) -> SSAValue:
    """A tensor whose slice at one index of some axes is replaced."""
    return _inserted(piece, into, _computed(at, len(dims_of(piece.type))), rewriter)


def copied(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A new tensor with the elements of a view."""
    rank, init = len(dims_of(value.type)), empty(tensor_of(value), rewriter)
    read = (value, identity(rank))
    return generic([read], (init, identity(rank)), [PARALLEL] * rank, lambda s: s[0], rewriter)


def collected(
    type: Tensor, source: SSAValue, reads: Sequence[Read], positions: Positions, rewriter: PatternRewriter
) -> SSAValue:
    """
    A tensor of a type whose elements are read from a source at computed positions.

    `positions` gives an index for each dimension of the source, which must be inside it.
    """
    rank = len(dims_of(type))
    element = element_of_value(source)

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        at = positions([loop_index(loop) for loop in range(rank)], scalars[:-1])
        read = tensor.ExtractOp.create(operands=[source, *at], result_types=[signless(element)])
        return Scalars(element).widen(read.results[0])

    init = empty(type, rewriter)
    return generic(reads, (init, identity(rank)), [PARALLEL] * rank, body, rewriter)


def table(
    dim: Dim, element: Attribute, entry: Callable[[SSAValue], SSAValue], rewriter: PatternRewriter
) -> SSAValue:
    """
    A vector of values that depend on one loop index only: each is computed once, not for each element.

    `entry` emits the entry for an index, a scalar of type `element`.
    """
    write = (empty(tensor_type(element, [dim]), rewriter), identity(1))
    return generic([], write, [PARALLEL], lambda _: entry(loop_index(0)), rewriter)


def index_table(dim: Dim, entry: Callable[[SSAValue], SSAValue], rewriter: PatternRewriter) -> SSAValue:
    """A table of indices, stored as i64."""
    return table(dim, i64, lambda index: arith.IndexCastOp(entry(index), i64).result, rewriter)


def index_of(number: SSAValue) -> SSAValue:
    """An i64 converted to an index."""
    return arith.IndexCastOp(number, IndexType()).result


class _Indices(Scalars):
    """Emitters of index arithmetic; they append to the current implicit builder."""

    def __init__(self) -> None:
        super().__init__(IndexType())

    def constant(self, number: float) -> SSAValue:
        """An index constant."""
        return arith.ConstantOp(IntegerAttr.from_index_int_value(int(number))).result

    def scaled(self, a: SSAValue, factor: int) -> SSAValue:
        """An index times a constant factor; the index itself for 1."""
        return a if factor == 1 else self.multiply(a, self.constant(factor))

    def modulo(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The non-negative remainder of a division by a positive number."""
        rest = arith.RemSIOp(a, b).result
        return self.select(self.compare("lt", rest, self.constant(0)), self.add(rest, b), rest)

    def clamped(self, a: SSAValue, size: SSAValue) -> SSAValue:
        """The nearest index inside a dimension of the given size."""
        last = self.subtract(size, self.constant(1))
        return self.maximum(self.minimum(a, last), self.constant(0))

    def from_scalar(self, scalar: SSAValue, scalars: Scalars) -> SSAValue:
        """An integer element converted to an index."""
        return index_of(scalars.convert(scalar, Scalars(i64)))

    def from_end(self, a: SSAValue, size: SSAValue) -> SSAValue:
        """The index from the start, of one that may be negative and count from the end; clamped."""
        moved = self.select(self.compare("lt", a, self.constant(0)), self.add(a, size), a)
        return self.clamped(moved, size)


INDICES = _Indices()
