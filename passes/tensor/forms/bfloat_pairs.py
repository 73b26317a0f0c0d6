"""Matrices of f32 as pairs of bf16 along a sum, and sums of products of pairs, inside the loops of forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects.arith import DotBfloatsOp, PairBfloatsOp
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import projection
from stepwell.passes.tensor.forms.structured_ops import Read, computed

Rows: TypeAlias = Callable[[Index, Index], Read]
"""Reads a number of rows of a matrix from a first one on, by loops over them and columns."""
_ROW, _COLUMN = AffineExpr.dimension(0), AffineExpr.dimension(1)


def plus_pair(emit: IRBuilder, scalars: Sequence[SSAValue]) -> SSAValue:
    """A sum plus the products of two pairs of bf16, of (pair, pair, sum)."""
    return emit.value(DotBfloatsOp(*scalars))


def pairs_of_columns(emit: IRBuilder, rows: Read, count: Index, columns: int) -> SSAValue:
    """Rows of f32 as pairs of bf16 of each two columns, an even number: [rows, columns / 2] of i32."""
    source, by_row = rows
    reads = [(source, by_row.compose(AffineMap(2, 0, (_ROW, 2 * _COLUMN + half)))) for half in (0, 1)]
    into = emit.empty(i32, [count, columns // 2]), projection(2, [0, 1])
    return computed(emit, reads, into, _paired)


def pairs_of_rows(emit: IRBuilder, rows: Rows, count: Index, columns: Index) -> SSAValue:
    """
    Rows of f32 as pairs of bf16 of each two rows, [rows / 2, columns] of i32.

    An odd last row is paired with zeros.
    """
    whole = emit.quotient(count, 2)
    rest = emit.minus(count, emit.times(whole, 2))
    pairs = emit.empty(i32, [emit.ceildiv(count, 2), columns])
    if whole != 0:
        source, by_row = rows(0, emit.times(whole, 2))
        reads = [(source, by_row.compose(AffineMap(2, 0, (2 * _ROW + half, _COLUMN)))) for half in (0, 1)]
        pairs = _written(reads, Slice((0, 0), (whole, columns), (1, 1)), emit, pairs)
    if rest == 0:
        return pairs
    # Where the number of rows is known at run time only, the loop has one iteration, or none.
    last = partial(_written, [rows(emit.minus(count, 1), 1)], Slice((whole, 0), (1, columns), (1, 1)))
    return emit.fold(0, rest, 1, pairs, lambda inner, _, carried: last(inner, carried))


def _written(reads: Sequence[Read], part: Slice, emit: IRBuilder, pairs: SSAValue) -> SSAValue:
    into = extract_slice(emit, pairs, part), projection(2, [0, 1])
    return insert_slice(emit, computed(emit, reads, into, _paired), pairs, part)


def _paired(emit: IRBuilder, scalars: Sequence[SSAValue]) -> SSAValue:
    """A pair of (low, high, old), or of (low, old) and zero."""
    low, *others, _ = scalars
    return emit.value(PairBfloatsOp(low, others[0] if others else emit.number(0.0, f32)))
