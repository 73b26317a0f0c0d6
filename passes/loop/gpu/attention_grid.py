"""The grid of attention: a block some queries, by its threads or by fragments of its warps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects.gpu.tensor_cores import MATRIX_COLUMNS, MATRIX_ROWS, SHAPES, TF32
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import GridAttentionOp
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.passes.loop.gpu.attention_thread import STEP, AttentionFrame, AttentionThread, Factors, Matrix
from stepwell.passes.loop.gpu.fragments import Factor, factor_of, fragment_totals, load_matrices

_SHAPE = SHAPES[TF32]
_CHAIN = 2
"""Steps of sums that tensor cores add up before their total is added with rounding: they cut sums off."""


def build_attention(before: IRBuilder, op: GridAttentionOp, schedule: Schedule) -> None:
    """
    Insert the grid of attention. Raises: StepwellError `unsupported` for a schedule without tiles of it.

    Source: Dao et al., "FlashAttention", 2022; Milakov and Gimelshein, "Online normalizer calculation for
    softmax", 2018.
    """
    frame, at = AttentionFrame.open(before, op, schedule)
    (_AttentionWarp if frame.tile.has_fragments else AttentionThread)(frame, at).build()
    at.insert(scf.ReduceOp())


class _AttentionWarp(AttentionThread):
    """Two queries of a warp's sixteen, and pairs of keys and columns in fragments of 16 x 8."""

    def position(self, at: IRBuilder) -> tuple[Index, Index]:
        thread, lanes = self.frame.thread, self.frame.tile.lanes
        warp, lane = at.quotient(thread, WARP_THREADS), at.remainder(thread, WARP_THREADS)
        self._group, part = at.quotient(lane, lanes), at.remainder(lane, lanes)
        first = at.times(warp, _SHAPE.rows)
        # The rows and the columns of matrices whose addresses the lane has: of queries, and of keys.
        self._left = (
            at.plus(first, at.remainder(lane, _SHAPE.rows)),
            at.times(at.quotient(lane, _SHAPE.rows), MATRIX_COLUMNS),
        )
        self._right = (
            at.remainder(lane, MATRIX_ROWS),
            at.times(at.quotient(lane, MATRIX_ROWS), MATRIX_COLUMNS),
        )
        return part, at.plus(first, self._group)

    def row_steps(self) -> Sequence[int]:
        return 0, _SHAPE.rows // 2

    def columns(self, at: IRBuilder, width: int) -> list[Index]:
        first = at.times(self.lane, 2)
        return [at.plus(first, column + part) for column in range(0, width, STEP) for part in (0, 1)]

    def multiply(
        self, at: IRBuilder, sizes: tuple[int, int], factors: Factors, totals: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        width, count = sizes
        chain = _CHAIN if count % (_CHAIN * _SHAPE.sums) == 0 else 1
        rows = [at.plus(self.row, row) for row in self.rows]

        def step(inside: IRBuilder, k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            a = [self._a(inside, factors.left, rows, inside.plus(k, i * _SHAPE.sums)) for i in range(chain)]
            found = list(carried)
            for fragment in range(width // STEP):
                total: Sequence[SSAValue] = [inside.number(0, f32)] * _SHAPE.result
                for left, right in zip(a, self._b(inside, factors, fragment, k, chain), strict=True):
                    total = fragment_totals(inside, left, right, total, self.frame.split)
                for place, part in zip(_places(fragment, width), total, strict=True):
                    found[place] = inside.value(arith.AddfOp(found[place], part))
            return found

        return at.loop(0, count, chain * _SHAPE.sums, totals, step)

    def _a(self, at: IRBuilder, left: Matrix, rows: Sequence[Index], first: Index) -> list[Factor]:
        """The fragment of the warp's queries at some sums."""
        if left.takes_ldmatrix:
            values = load_matrices(
                at, left.memory, (self._left[0], at.plus(self._left[1], first)), _SHAPE.left
            )
        else:
            sums = [at.plus(at.plus(first, self.lane), k) for k in (0, _SHAPE.sums // 2)]
            values = [left.load(at, row, k) for k in sums for row in rows]
        return [factor_of(at, value, self.frame.split) for value in values]

    def _b(
        self, at: IRBuilder, factors: Factors, fragment: int, first: Index, chain: int
    ) -> list[list[Factor]]:
        """The fragments of eight columns at some steps of sums."""
        column, count = fragment * STEP, chain * _SHAPE.right
        if factors.right.takes_ldmatrix and not factors.has_sums_first:
            place = at.plus(self._right[0], column), at.plus(self._right[1], first)
            values = load_matrices(at, factors.right.memory, place, count)
        else:
            own, start = at.plus(self._group, column), at.plus(first, self.lane)
            values = [factors.load_right(at, own, at.plus(start, i * MATRIX_COLUMNS)) for i in range(count)]
        every = [factor_of(at, value, self.frame.split) for value in values]
        return [every[i : i + _SHAPE.right] for i in range(0, count, _SHAPE.right)]


def _places(fragment: int, width: int) -> list[int]:
    """The places of a fragment's elements among a thread's, which are row by row."""
    row = width // STEP * 2
    return [i * row + 2 * fragment + j for i in (0, 1) for j in (0, 1)]
