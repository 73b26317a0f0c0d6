"""
The grid of scans: a block for each row, whose threads combine all elements before theirs; or a thread for
each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, i32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.collectives import is_exchangeable
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_builder.reduction_kinds import KINDS
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_ext import GridScanOp
from stepwell.dialects.linalg_ext.grids import element_of, shape_of
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import SHUFFLE, WARP_THREADS, OnDevice, block_threads
from stepwell.dialects.schedule_levels import Level
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import product_of, shared_array, size_of, split_number
from stepwell.passes.loop.gpu.product_frame import inside_condition, only_where
from stepwell.passes.loop.gpu.tile_choices import Limits, elementwise_threads, row_threads
from stepwell.runtime.errors import StepwellError


def scan_schedule(op: GridScanOp, limits: Limits) -> Schedule:
    """The schedule of a scan: a thread a column where columns are neighbours, else a block a row."""
    shape, axis = shape_of(op.input), op.axis.value.data
    rank, last = len(shape), len(shape) - 1
    others = [None if size == DYNAMIC_INDEX else size for i, size in enumerate(shape) if i != axis]
    are_many = None in others or prod(size or 0 for size in others) >= WARP_THREADS
    if axis != last and shape[last] != 1 and are_many:
        return _bound(rank, last, elementwise_threads(limits, others), 1)
    threads = max(2, row_threads(limits, None if shape[axis] == DYNAMIC_INDEX else shape[axis]))
    has_warps = limits.has_shuffles and threads % WARP_THREADS == 0 and is_exchangeable(element_of(op.input))
    return _bound(rank, axis, threads, WARP_THREADS if has_warps else 1)


def _bound(rank: int, loop: int, threads: int, inner: int) -> Schedule:
    """A schedule of blocks of threads along one loop, by warps or threads."""
    outer_tile, inner_tile = (
        tuple(tile if each == loop else 0 for each in range(rank)) for tile in (threads, inner)
    )
    has_warps = inner == WARP_THREADS
    levels = [Level(outer_tile, bind="block"), Level(inner_tile, bind="warp" if has_warps else "thread")]
    return Schedule.of_levels(levels, on_device=OnDevice(intrinsic=SHUFFLE if has_warps else ""))


def build_scan(before: IRBuilder, op: GridScanOp, schedule: Schedule) -> None:
    """Insert the grid of a scan. Raises: StepwellError `unsupported` for a schedule that it does not have."""
    outer, inner = schedule.levels()
    tiled, rank = [loop for loop, tile in enumerate(outer.tile) if tile], len(shape_of(op.input))
    threads = block_threads(schedule.levels())
    if (
        len(outer.tile) != rank
        or len(tiled) != 1
        or (_bound(rank, tiled[0], outer.tile[tiled[0]], inner.tile[tiled[0]]) != schedule)
    ):
        message = f"a schedule of blocks and threads for a scan: {schedule.attr()}"
        raise StepwellError("unsupported", op, message, help="one tile, of threads or warps, along a loop")
    if tiled[0] != op.axis.value.data:
        _by_columns(before, _Line.of(before, op), threads)
        return
    is_exchanged = bool(schedule.on_device.intrinsic)
    if is_exchanged and not is_exchangeable(element_of(op.input)):
        raise StepwellError("unsupported", op, f"an exchange of {element_of(op.input)} between threads")
    _by_rows(before, _Line.of(before, op), threads, is_exchanged)


class _Line:
    """The elements along the axis of a scan, in the order in which they are combined."""

    def __init__(self, op: GridScanOp, sizes: Sequence[Index]):
        self.op, self.sizes = op, sizes
        self.axis = op.axis.value.data
        self.count = sizes[self.axis]
        self.others = [size for i, size in enumerate(sizes) if i != self.axis]
        self._scalars, self._kind = Scalars(element_of(op.input)), KINDS[op.kind.data]
        self.type = self._scalars.type

    @staticmethod
    def of(before: IRBuilder, op: GridScanOp) -> _Line:
        """The lines of an op, with sizes before its grid."""
        return _Line(op, [size_of(before, op.input, axis) for axis in range(len(shape_of(op.input)))])

    def start(self, at: IRBuilder) -> SSAValue:
        """The neutral element of the combination."""
        return at.number(self._kind.start(self._scalars), self.type)

    def combine(self, at: IRBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        """Two totals, the earlier one first."""
        return at.value(cast(Operation, self._kind.combine(self._scalars, a, b).owner))

    def load(self, at: IRBuilder, line: Sequence[Index], index: Index) -> SSAValue:
        """An element by its number along the axis."""
        return at.value(memref.LoadOp.get(self.op.input, self._place(at, line, index)))

    def store(self, at: IRBuilder, value: SSAValue, line: Sequence[Index], index: Index) -> None:
        """Store an element by its number along the axis."""
        at.insert(memref.StoreOp.get(value, self.op.init, self._place(at, line, index)))

    def _place(self, at: IRBuilder, line: Sequence[Index], index: Index) -> list[SSAValue]:
        """The indices of an element: numbers count from the end in reverse."""
        if bool(self.op.reverse):
            index = at.minus(at.minus(self.count, 1), index)
        return [at.materialize(each) for each in (*line[: self.axis], index, *line[self.axis :])]


def _by_columns(before: IRBuilder, line: _Line, threads: int) -> None:
    """A thread for each line: neighbours access neighbouring elements."""
    total = product_of(before, line.others)
    outer, at = open_grid(before, before.ceildiv(total, threads), threads)
    number = at.plus(at.times(outer.args[0], threads), at.insertion_point.block.args[0])
    with only_where(at, [inside_condition(at, number, total, threads)]) as place:
        others = split_number(place, number, line.others)

        def step(inside: IRBuilder, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            joined = line.combine(inside, carried[0], line.load(inside, others, index))
            line.store(inside, carried[0] if bool(line.op.exclusive) else joined, others, index)
            return [joined]

        place.loop(0, line.count, 1, [line.start(place)], step)
    at.insert(scf.ReduceOp())


def _by_rows(before: IRBuilder, line: _Line, threads: int, is_exchanged: bool) -> None:
    """A block for each line: an element a thread, then the next ones with the total so far."""
    outer, at = open_grid(before, product_of(before, line.others), threads)
    thread = at.insertion_point.block.args[0]
    others = split_number(at, outer.args[0], line.others)
    scan = _Warps(at, line, threads) if is_exchanged else _Halves(at, line, threads)
    is_exclusive = bool(line.op.exclusive)
    if is_exclusive:  # thread i stores element i + 1
        has_first = at.compare("ult", at.materialize(0), at.materialize(line.count))
        is_first = at.compare("eq", thread, at.materialize(0))
        with only_where(at, [is_first, has_first]) as inside:
            line.store(inside, line.start(inside), others, 0)

    def step(inside: IRBuilder, begin: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        index, last = inside.plus(begin, thread), inside.minus(line.count, 1)
        exists = inside.compare("ult", inside.materialize(index), inside.materialize(line.count))
        element = line.load(inside, others, inside.binary(arith.MinUIOp, index, last))
        element = inside.value(arith.SelectOp(exists, element, line.start(inside)))
        found, total = scan.scanned(inside, element)
        stored = inside.plus(index, 1) if is_exclusive else index
        is_stored = exists
        if is_exclusive:
            is_stored = inside.compare("ult", inside.materialize(stored), inside.materialize(line.count))
        with only_where(inside, [is_stored]) as place:
            line.store(place, line.combine(place, carried[0], found), others, stored)
        return [line.combine(inside, carried[0], total)]

    at.loop(0, line.count, threads, [line.start(at)], step)
    at.insert(scf.ReduceOp())


class _Halves:
    """A scan of the elements of a block's threads in memory of the block: from twice as far in each step."""

    def __init__(self, at: IRBuilder, line: _Line, threads: int):
        self._line, self._threads = line, threads
        self._thread = at.insertion_point.block.args[0]
        self._memory = [shared_array(at, line.type, [threads], "scanned") for _ in range(2)]

    def scanned(self, at: IRBuilder, value: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The combination of the elements up to that of the thread, and of all."""
        distance, turn = 1, 0
        while distance < self._threads:
            memory = self._memory[turn % 2]
            at.insert(memref.StoreOp.get(value, memory, [self._thread]))
            is_after = at.compare("uge", self._thread, at.materialize(distance))
            apart = at.materialize(at.minus(self._thread, distance))
            place = at.value(arith.SelectOp(is_after, apart, self._thread))
            earlier = at.value(memref.LoadOp.get(memory, [place]))
            value = at.value(arith.SelectOp(is_after, self._line.combine(at, earlier, value), value))
            distance, turn = 2 * distance, turn + 1
        memory = self._memory[turn % 2]
        at.insert(memref.StoreOp.get(value, memory, [self._thread]))
        return value, at.value(memref.LoadOp.get(memory, [at.materialize(self._threads - 1)]))


class _Warps:
    """A scan of the elements of a block's threads: of each warp by shuffles, then of the warps' totals."""

    def __init__(self, at: IRBuilder, line: _Line, threads: int):
        self._line, self._warps = line, threads // WARP_THREADS
        thread = at.insertion_point.block.args[0]
        self._lane = at.materialize(at.remainder(thread, WARP_THREADS))
        self._warp = at.materialize(at.quotient(thread, WARP_THREADS))
        self._totals = shared_array(at, line.type, [self._warps], "totals")

    def scanned(self, at: IRBuilder, value: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The combination of the elements up to that of the thread, and of all."""
        width, distance = at.number(WARP_THREADS, i32), 1
        while distance < WARP_THREADS:
            shuffle = at.insert(gpu.ShuffleOp("up", value, at.number(distance, i32), width))
            is_after = at.compare("uge", self._lane, at.materialize(distance))
            joined = self._line.combine(at, shuffle.shuffled, value)
            value = at.value(arith.SelectOp(is_after, joined, value))
            distance *= 2
        is_last = at.compare("eq", self._lane, at.materialize(WARP_THREADS - 1))
        with only_where(at, [is_last]) as inside:
            inside.insert(memref.StoreOp.get(value, self._totals, [self._warp]))
        total = before = self._line.start(at)
        for warp in range(self._warps):
            part = at.value(memref.LoadOp.get(self._totals, [at.materialize(warp)]))
            is_earlier = at.compare("ult", at.materialize(warp), self._warp)
            total = self._line.combine(at, total, part)
            before = at.value(arith.SelectOp(is_earlier, total, before))
        return self._line.combine(at, before, value), total
