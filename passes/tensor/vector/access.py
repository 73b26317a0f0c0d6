"""Reading and writing vectors over the loops of a structured op, as strided blocks of its operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir import transfers
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice
from stepwell.dialects.tensor_ir.structured import linear
from stepwell.dialects.tensor_ir.transfers import DimOf, element_type, vector_type


@dataclass(frozen=True)
class Access:
    """The strided block of a tensor that a vector covers; `dim_of` gives each vector dimension's own."""

    start: tuple[int, ...]
    stride: tuple[int, ...]
    sizes: tuple[int, ...]
    dim_of: DimOf


def access(
    map: AffineMap, dims: Sequence[int], extents: Sequence[int], point: Mapping[int, int]
) -> Access | None:
    """
    The block of an operand that a vector over the loops `dims` reads with the other loops at `point`.

    None when these elements are no strided block, such as a diagonal or a sliding window.
    """
    found = [_dimension(expr, dims, extents, point) for expr in map.results]
    known = [part for part in found if part is not None]
    loops = [part[3] for part in known]
    moved = [loop for loop in loops if loop is not None]
    if len(known) != len(found) or len(set(moved)) != len(moved):
        return None
    return Access(
        start=tuple(part[0] for part in known),
        stride=tuple(part[1] for part in known),
        sizes=tuple(part[2] for part in known),
        dim_of=tuple(loops.index(d) if d in loops else None for d in dims),
    )


def _dimension(
    expr: AffineExpr, dims: Sequence[int], extents: Sequence[int], point: Mapping[int, int]
) -> tuple[int, int, int, int | None] | None:
    """First index, stride, size and moving loop along one dimension of an operand."""
    if (index := linear(expr)) is None:
        return None
    start = index.constant + sum(factor * point[d] for d, factor in index.terms if d not in dims)
    terms = [(d, factor) for d, factor in index.terms if d in dims]
    moving = [(d, factor) for d, factor in terms if extents[d] > 1] or terms[:1]
    if not moving:
        return start, 1, 1, None
    (dim, stride), *more = moving
    if more or stride < 0:
        return None
    return start, stride if extents[dim] > 1 else 1, extents[dim], dim


def read(emit: IRBuilder, source: SSAValue, at: Access, shape: tuple[int, ...]) -> SSAValue:
    """Read a block as a vector, through an `extract_slice` when strided; as a scalar for an empty shape."""
    element = element_type(source.type)
    start = at.start
    if any(stride != 1 for stride in at.stride):
        source, start = extract_slice(emit, source, Slice(start, at.sizes, at.stride)), (0,) * len(start)
    indices = [emit.materialize(i) for i in start]
    if not shape:
        return emit.value(tensor.ExtractOp.create(operands=[source, *indices], result_types=[element]))
    return transfers.read(emit, source, indices, vector_type(element, shape), at.dim_of)


def write(emit: IRBuilder, value: SSAValue, into: SSAValue, at: Access) -> SSAValue:
    """Write a vector, or a scalar, to an unstrided block; returns the tensor after it."""
    indices = [emit.materialize(i) for i in at.start]
    if not at.dim_of:
        return emit.value(tensor.InsertOp.create(operands=[value, into, *indices], result_types=[into.type]))
    return transfers.write(emit, value, into, indices, at.dim_of)
