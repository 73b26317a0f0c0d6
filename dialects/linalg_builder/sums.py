"""Sums of products as `linalg.generic`: kept in f32 for 16-bit floats, and rounded once at the end."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    empty,
    filled,
    generic,
    identity,
    projection,
)
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim


def accumulator(element: Attribute) -> Attribute:
    """The element type of the sums of products of a type: f32 for narrower floats."""
    return f32 if Scalars(element).narrow_float else element


def sum_of_products(
    reads: tuple[Read, Read], element: Attribute, dims: Sequence[Dim], sums: int, rewriter: PatternRewriter
) -> SSAValue:
    """
    A tensor of `element` and `dims`: sums, over the `sums` innermost loops, of products of the two `reads`.

    The loops are the dimensions of the result, then those of the sum.
    """
    kept = accumulator(element)
    source, sink = Scalars(element_of_value(reads[0][0])), Scalars(kept)

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        a, b, total = scalars
        return sink.add(total, sink.multiply(source.convert(a, sink), source.convert(b, sink)))

    return rounded(accumulated(reads, kept, dims, sums, body, rewriter), element, rewriter)


def accumulated(
    reads: Sequence[Read],
    element: Attribute,
    dims: Sequence[Dim],
    sums: int,
    body: Body,
    rewriter: PatternRewriter,
) -> SSAValue:
    """
    A tensor of `element` and `dims` that starts as zeros; `body` adds to it over the `sums` innermost loops.
    """
    rank = len(dims)
    init = filled(tensor_type(element, dims), 0, rewriter)
    loops = [PARALLEL] * rank + [REDUCTION] * sums
    return generic(reads, (init, projection(rank + sums, range(rank))), loops, body, rewriter)


def rounded(value: SSAValue, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """A tensor of sums, converted to the element type of the result."""
    if element_of_value(value) == element:
        return value
    dims = dims_of(value.type)
    write = (empty(tensor_type(element, dims), rewriter), identity(len(dims)))
    reads = [(value, identity(len(dims)))]
    return generic(reads, write, [PARALLEL] * len(dims), lambda s: s[0], rewriter)
