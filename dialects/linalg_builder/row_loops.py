"""Loops of scalars with carried values, as scans and searches along rows need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.linalg_builder.slices import INDICES
from stepwell.dialects.linalg_builder.support import inserted

LoopBody: TypeAlias = "Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits an iteration: from the index and the carried values to the next carried values."""
RowBody: TypeAlias = "Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits the work for one row: from the indices of all loops around it and the carried values."""


def counted_loop(size: SSAValue, carried: Sequence[SSAValue], body: LoopBody) -> Sequence[SSAValue]:
    """An `scf.for` from 0 to a size with carried values, emitted into the current implicit builder."""
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    with ImplicitBuilder(block) as (index, *inner):
        scf.YieldOp(*body(index, inner))
    return scf.ForOp(INDICES.constant(0), size, INDICES.constant(1), list(carried), Region(block)).results


def row_by_row(
    sizes: Sequence[SSAValue], carried: Sequence[SSAValue], row: RowBody, rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Nested loops from 0 to each of `sizes` around the body `row`; returns the values carried to the end."""

    def nest(outer: list[SSAValue], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(outer) == len(sizes):
            return row(outer, carried)
        return counted_loop(sizes[len(outer)], carried, lambda index, inner: nest([*outer, index], inner))

    return inserted(lambda: nest([], carried), rewriter)
