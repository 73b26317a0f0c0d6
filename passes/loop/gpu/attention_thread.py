"""Attention by the threads of a block: an online softmax over keys, some of which are in its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import UnitAttr, f32, i32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import takes_ldmatrix
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import GridAttentionOp
from stepwell.dialects.linalg_ext.grids import shape_of
from stepwell.dialects.sched import OWN, Schedule
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.passes.loop.gpu.attention_tiles import AttentionTile, tile_of
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import product_of, shared_array, size_of, split_number
from stepwell.passes.loop.gpu.product_frame import clamped, inside_condition, only_where

STEP = 8
"""Columns of a product from one of a thread's to the next, and those of a fragment."""
_LOWEST = float("-inf")
_LOADS = 16
"""The loads of a copy before their stores: each takes a register. No GPU has measured the number."""


class Matrix(NamedTuple):
    """Rows of numbers in memory of the block."""

    memory: SSAValue

    @staticmethod
    def of(at: IRBuilder, rows: int, row_elems: int, name: str) -> Matrix:
        """New memory of the block."""
        return Matrix(shared_array(at, f32, [rows, row_elems], name))

    def load(self, at: IRBuilder, row: Index, column: Index) -> SSAValue:
        """An element."""
        return at.value(memref.LoadOp.get(self.memory, [at.materialize(row), at.materialize(column)]))

    def store(self, at: IRBuilder, value: SSAValue, row: Index, column: Index) -> None:
        """Store an element, which no other thread of the block stores to."""
        places = [at.materialize(row), at.materialize(column)]
        at.insert(memref.StoreOp.get(value, self.memory, places)).attributes[OWN] = UnitAttr()

    @property
    def takes_ldmatrix(self) -> bool:
        """Whether warps load eight rows by four elements together, without conflicts of banks."""
        return takes_ldmatrix(shape_of(self.memory)[-1])


class Factors(NamedTuple):
    """Both factors of a product: rows of queries, and keys or values."""

    left: Matrix
    right: Matrix
    has_sums_first: bool
    """Whether rows of the right one are those of a sum, as values are."""

    def load_right(self, at: IRBuilder, column: Index, k: Index) -> SSAValue:
        """An element of the right factor."""
        return self.right.load(at, k, column) if self.has_sums_first else self.right.load(at, column, k)


@dataclass(frozen=True)
class AttentionFrame:
    """The sizes of attention, and the indices of a thread in its grid."""

    op: GridAttentionOp
    tile: AttentionTile
    split: int
    """The products of tensor cores for one of f32."""
    batch: Sequence[Index]
    """The indices of the result's dimensions before the queries."""
    queries: Index
    keys: Index
    first: Index
    """The first query of the block."""
    thread: SSAValue

    @staticmethod
    def open(before: IRBuilder, op: GridAttentionOp, schedule: Schedule) -> tuple[AttentionFrame, IRBuilder]:
        """The loops of blocks and threads; returns a builder inside of them, without their end."""
        tile = tile_of(op, schedule)
        *batch, queries, _ = (size_of(before, op.init, axis) for axis in range(len(shape_of(op.init))))
        keys = size_of(before, op.k, len(shape_of(op.k)) - 2)
        counts = [*batch, before.ceildiv(queries, tile.queries)]
        outer, at = open_grid(before, product_of(before, counts), tile.threads)
        *indices, block = split_number(at, outer.args[0], counts)
        thread = at.insertion_point.block.args[0]
        first = at.times(block, tile.queries)
        split = schedule.on_device.split
        return AttentionFrame(op, tile, split, indices, queries, keys, first, thread), at

    def read(self, at: IRBuilder, operand: SSAValue, row: Index, column: Index) -> SSAValue:
        """An element of an operand in the block's batch; dimensions of size 1 broadcast."""
        shape = shape_of(operand)
        point = [*self.batch, row, column]
        own = zip(shape, point[len(point) - len(shape) :], strict=True)
        indices = [at.materialize(0 if size == 1 else index) for size, index in own]
        return at.value(memref.LoadOp.get(operand, indices))

    def copy(
        self, at: IRBuilder, operand: SSAValue, target: Matrix, first: Index, total: Index, rows: int
    ) -> None:
        """
        Copy rows of an operand, each thread some elements: some loads before their stores.

        Args: `rows` from the `first` on are copied; zeros stand for those that are not below `total`, and
        after the last element of a row.
        """
        width = self.tile.padded(shape_of(operand)[-1])
        places = self._places(at, rows, width)
        for some in range(0, len(places), _LOADS):
            values = [
                self._copied(at, operand, (at.plus(first, row), column), (total, rows), exists is not None)
                for row, column, exists in places[some : some + _LOADS]
            ]
            for value, (row, column, exists) in zip(values, places[some : some + _LOADS], strict=True):
                with only_where(at, [exists]) as inside:
                    target.store(inside, value, row, column)

    def _places(self, at: IRBuilder, rows: int, width: int) -> list[tuple[Index, Index, SSAValue | None]]:
        """
        The rows and the columns of elements that the thread copies, by few numbers that all of them share.

        Returns: with each a condition, where some threads have no such element.
        """
        threads, thread = self.tile.threads, self.thread
        starts = range(0, rows * width, threads)
        if threads % width == 0:
            row, column = at.quotient(thread, width), at.remainder(thread, width)
            return [(at.plus(row, begin // width), column, None) for begin in starts]
        if width % threads == 0:
            return [(begin // width, at.plus(thread, begin % width), None) for begin in starts]
        if width > WARP_THREADS and threads % WARP_THREADS == 0:  # rows by warps
            warp, lane = at.quotient(thread, WARP_THREADS), at.remainder(thread, WARP_THREADS)
            columns = [at.plus(lane, begin) for begin in range(0, width, WARP_THREADS)]
            exist = [
                *[None] * (width // WARP_THREADS),
                inside_condition(at, columns[-1], width, WARP_THREADS),
            ]
            steps = range(0, rows, threads // WARP_THREADS)
            by_column = [*zip(columns, exist, strict=False)]
            return [(at.plus(warp, row), column, exists) for row in steps for column, exists in by_column]
        numbers = [at.plus(thread, begin) for begin in starts]
        return [(at.quotient(number, width), at.remainder(number, width), None) for number in numbers]

    def _copied(
        self,
        at: IRBuilder,
        operand: SSAValue,
        place: tuple[Index, Index],
        rows: tuple[Index, int],
        is_past: bool,
    ) -> SSAValue:
        """
        An element of an operand, or zero where there is none.

        Args: `rows` are all of them, and those of the copy; with `is_past` columns may be past the last one.
        """
        columns = shape_of(operand)[-1]
        sizes = rows, (columns, columns + 1 if is_past else self.tile.padded(columns))
        inside = [clamped(at, index, *size) for index, size in zip(place, sizes, strict=True)]
        value = self.read(at, operand, inside[0], inside[1])
        for index, size in zip(place, sizes, strict=True):
            if (exists := inside_condition(at, index, *size)) is not None:
                value = at.value(arith.SelectOp(exists, value, at.number(0, f32)))
        return value


class _State(NamedTuple):
    """Values of the loop over keys: for each of a thread's queries the greatest score, and sums so far."""

    tops: Sequence[SSAValue]
    totals: Sequence[SSAValue]
    """The sums of powers, of the thread's own keys."""
    sums: Sequence[SSAValue]
    """The sums of values times powers, row by row."""

    @staticmethod
    def of(values: Sequence[SSAValue], rows: int) -> _State:
        """The parts of all values."""
        return _State(values[:rows], values[rows : 2 * rows], values[2 * rows :])


class AttentionThread:
    """The queries of a thread, and every eighth key and column of these."""

    def __init__(self, frame: AttentionFrame, at: IRBuilder):
        op, tile = frame.op, frame.tile
        self.frame, self.at = frame, at
        self.lane, self.row = self.position(at)
        self.rows = self.row_steps()
        depth = tile.depth_row(op.depth)
        self._q = Matrix.of(at, tile.queries, depth, "q_tile")
        self._k = Matrix.of(at, tile.keys, depth, "k_tile")
        self._v = Matrix.of(at, tile.keys, tile.value_row(op.columns), "v_tile")
        self._powers = Matrix.of(at, tile.queries, tile.power_row, "powers")
        self._parts = None if tile.exchange else Matrix.of(at, tile.queries, tile.lanes, "parts")

    def position(self, at: IRBuilder) -> tuple[Index, Index]:
        """The thread among those with the same queries, and its first query in the block."""
        lanes = self.frame.tile.lanes
        return at.remainder(self.frame.thread, lanes), at.quotient(self.frame.thread, lanes)

    def row_steps(self) -> Sequence[int]:
        """The thread's queries after its first one."""
        tile = self.frame.tile
        return range(0, tile.queries, tile.queries // tile.thread_queries)

    def columns(self, at: IRBuilder, width: int) -> list[Index]:
        """The columns of a product that the thread has: keys of scores, elements of values."""
        return [at.plus(self.lane, column) for column in range(0, width, STEP)]

    def multiply(
        self, at: IRBuilder, sizes: tuple[int, int], factors: Factors, totals: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """
        The totals, row by row, after a product of some rows by columns.

        Args: `sizes` are the columns and the sums.
        """
        width, count = sizes
        rows, columns = [at.plus(self.row, row) for row in self.rows], self.columns(at, width)

        def step(inside: IRBuilder, k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            a = [factors.left.load(inside, row, k) for row in rows]
            b = [factors.load_right(inside, column, k) for column in columns]
            pairs = [(x, y) for x in a for y in b]
            return [inside.value(math.FmaOp(x, y, t)) for (x, y), t in zip(pairs, carried, strict=True)]

        return at.loop(0, count, 1, totals, step)

    def build(self) -> None:
        """Compute and store the thread's elements of the result."""
        frame, at, op, tile = self.frame, self.at, self.frame.op, self.frame.tile
        rows, width = len(self.rows), len(self.columns(at, tile.padded(op.columns)))
        frame.copy(at, op.q, self._q, frame.first, frame.queries, tile.queries)
        zero, lowest = at.number(0, f32), at.number(_LOWEST, f32)

        def step(inside: IRBuilder, begin: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            frame.copy(inside, op.k, self._k, begin, frame.keys, tile.keys)
            # Here it also is after the last reads of values: `insert-gpu-barriers` would add one for each.
            inside.insert(gpu.BarrierOp())
            frame.copy(inside, op.v, self._v, begin, frame.keys, tile.keys)
            state = self._add(inside, self._scores(inside, begin), _State.of(carried, rows))
            return [*state.tops, *state.totals, *state.sums]

        start = [*[lowest] * rows, *[zero] * rows, *[zero] * (rows * width)]
        self._store(_State.of(at.loop(0, frame.keys, tile.keys, start, step), rows))

    def _scores(self, at: IRBuilder, begin: SSAValue) -> list[SSAValue]:
        """The scores of the thread's queries and keys of a step, row by row: -inf where there is no key."""
        frame, tile = self.frame, self.frame.tile
        places = self.columns(at, tile.keys)
        zeros = [at.number(0, f32)] * (len(self.rows) * len(places))
        sizes = tile.keys, tile.padded(frame.op.depth)
        products = self.multiply(at, sizes, Factors(self._q, self._k, False), zeros)
        keys = [at.plus(begin, place) for place in places]
        exist = [inside_condition(at, key, frame.keys, tile.keys) for key in keys]
        scale, lowest = at.number(frame.op.scale.value.data, f32), at.number(_LOWEST, f32)
        found: list[SSAValue] = []
        for i, row in enumerate(self.rows):
            for j, key in enumerate(keys):
                score = at.value(arith.MulfOp(products[i * len(keys) + j], scale))
                if frame.op.mask is not None:
                    score = at.value(arith.AddfOp(score, self._mask(at, frame.op.mask, row, key)))
                exists = exist[j]
                found.append(score if exists is None else at.value(arith.SelectOp(exists, score, lowest)))
        return found

    def _mask(self, at: IRBuilder, mask: SSAValue, row: int, key: Index) -> SSAValue:
        """An element of the mask; past the end, the element of the last query or key."""
        frame = self.frame
        query = clamped(at, self._query(at, row), frame.queries, frame.tile.queries)
        return frame.read(at, mask, query, clamped(at, key, frame.keys, frame.tile.keys))

    def _query(self, at: IRBuilder, row: int) -> Index:
        """The number of one of the thread's queries."""
        return at.plus(self.frame.first, at.plus(self.row, row))

    def _add(self, at: IRBuilder, scores: Sequence[SSAValue], state: _State) -> _State:
        """The state after the keys of a step."""
        tile, op, rows = self.frame.tile, self.frame.op, len(self.rows)
        keys, width = len(scores) // rows, len(state.sums) // rows
        by_row = [scores[i * keys : (i + 1) * keys] for i in range(rows)]
        tops = self._exchanged(
            at,
            [_joined(at, arith.MaximumfOp, [top, *own]) for top, own in zip(state.tops, by_row, strict=True)],
            arith.MaximumfOp,
        )
        totals: list[SSAValue] = []
        sums: list[SSAValue] = []
        for i, (row, own) in enumerate(zip(self.rows, by_row, strict=True)):
            base = self._base(at, tops[i])
            factor = _power(at, state.tops[i], base)
            powers = [_power(at, score, base) for score in own]
            totals.append(at.value(math.FmaOp(state.totals[i], factor, _joined(at, arith.AddfOp, powers))))
            before = state.sums[i * width : (i + 1) * width]
            sums += [at.value(arith.MulfOp(each, factor)) for each in before]
            for key, power in zip(self.columns(at, tile.keys), powers, strict=True):
                self._powers.store(at, power, at.plus(self.row, row), key)

        sizes, factors = (tile.padded(op.columns), tile.keys), Factors(self._powers, self._v, True)
        return _State(tops, totals, self.multiply(at, sizes, factors, sums))

    def _base(self, at: IRBuilder, top: SSAValue) -> SSAValue:
        """The number subtracted from scores: 0 while all are -inf, since -inf minus -inf is NaN."""
        is_lowest = at.compare("oeq", top, at.number(_LOWEST, f32))
        return at.value(arith.SelectOp(is_lowest, at.number(0, f32), top))

    def _exchanged(
        self, at: IRBuilder, parts: Sequence[SSAValue], join: type[Operation]
    ) -> Sequence[SSAValue]:
        """For each query the combination of the parts of all its threads, in each of these."""
        tile, distance = self.frame.tile, self.frame.tile.lanes // 2
        if self._parts is not None:
            for row, part in zip(self.rows, parts, strict=True):
                self._parts.store(at, part, at.plus(self.row, row), self.lane)
            return [
                _joined(
                    at, join, [self._parts.load(at, at.plus(self.row, row), i) for i in range(tile.lanes)]
                )
                for row in self.rows
            ]
        width = at.number(WARP_THREADS, i32)
        while distance:
            offset = at.number(distance, i32)
            others = [at.insert(gpu.ShuffleOp("xor", part, offset, width)).shuffled for part in parts]
            parts = [_joined(at, join, both) for both in zip(parts, others, strict=True)]
            distance //= 2
        return parts

    def _store(self, state: _State) -> None:
        """Divide the sums by those of powers, and store them."""
        frame, at, op, tile = self.frame, self.at, self.frame.op, self.frame.tile
        totals = self._exchanged(at, state.totals, arith.AddfOp)
        columns = self.columns(at, tile.padded(op.columns))
        lowest, zero = at.number(_LOWEST, f32), at.number(0, f32)
        for i, row in enumerate(self.rows):
            query = self._query(at, row)
            with only_where(at, [inside_condition(at, query, frame.queries, tile.queries)]) as inside:
                is_masked = inside.compare("oeq", state.tops[i], lowest) if op.zero_masked else None
                for j, column in enumerate(columns):
                    value = inside.value(arith.DivfOp(state.sums[i * len(columns) + j], totals[i]))
                    if is_masked is not None:
                        value = inside.value(arith.SelectOp(is_masked, zero, value))
                    check = inside_condition(inside, column, op.columns, tile.padded(op.columns))
                    with only_where(inside, [check]) as place:
                        point = [place.materialize(each) for each in (*frame.batch, query, column)]
                        place.insert(memref.StoreOp.get(value, op.init, point))


def _joined(at: IRBuilder, join: type[Operation], values: Sequence[SSAValue]) -> SSAValue:
    """Values joined one after the other."""
    total, *rest = values
    for value in rest:
        total = at.value(join(total, value))  # pyright: ignore[reportCallIssue]
    return total


def _power(at: IRBuilder, score: SSAValue, base: SSAValue) -> SSAValue:
    """exp(score - base)."""
    return at.value(math.ExpOp(at.value(arith.SubfOp(score, base))))
