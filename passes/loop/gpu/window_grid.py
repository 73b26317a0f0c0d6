"""The grid of depthwise convolutions: a thread has outputs in a row, whose windows overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math, scf
from xdsl.dialects.linalg.ops import FillOp, IndexOp
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import block_threads
from stepwell.dialects.tensor_ir.structured import linear, map_dims, projected_permutation
from stepwell.passes.loop.gpu.chains import Chain
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import Nest, computed, is_buffer, load_element, product_of, split_number
from stepwell.passes.loop.gpu.product_frame import inside_condition, only_where
from stepwell.passes.loop.gpu.products import is_multiply_add


@dataclass(frozen=True, eq=False)
class Windows:
    """A sum over windows of an operand; the other one has the same factors for all outputs of a row."""

    nest: Nest
    data: int
    """The operand with the windows."""
    filters: int
    outputs: tuple[int, ...]
    """The loops of the output, in the order of its dimensions."""
    sums: tuple[int, ...]
    """The loops of a window: the last one is along rows."""
    stride: int
    """The elements of a row between the windows of neighbouring outputs."""
    dilation: int
    """Those between neighbouring elements of a window."""

    @property
    def row(self) -> int:
        """The outputs of a row."""
        extent = self.nest.extents[self.outputs[-1]]
        assert extent is not None
        return extent

    @property
    def width(self) -> int:
        """The elements of a row of a window."""
        extent = self.nest.extents[self.sums[-1]]
        assert extent is not None
        return extent

    def loads(self, outputs: int) -> int:
        """The elements of a row that the windows of neighbouring outputs have together."""
        return len({self.place(output, k) for output in range(outputs) for k in range(self.width)})

    def place(self, output: int, k: int) -> int:
        """The distance of an element of a window from the first one of the first output."""
        return self.stride * output + self.dilation * k


def windows_of(nest: Nest) -> Windows | None:
    """The windows of an op with two inputs; None for another op, and for rows of unknown length."""
    if len(nest.inputs) != 2 or len(nest.outputs) != 1 or not nest.has_extents():
        return None
    sums = tuple(loop for loop, is_parallel in enumerate(nest.parallel) if not is_parallel)
    outputs = projected_permutation(nest.output_maps[0])
    if not sums or not outputs or len(outputs) + len(sums) != len(nest.parallel):
        return None
    if not all(map(is_buffer, nest.op.operands)):
        return None
    if any(op.regions or isinstance(op, IndexOp) for op in nest.op.body.block.ops):
        return None
    if any(nest.extents[loop] is None for loop in (outputs[-1], *sums)):
        return None
    for data, filters in ((0, 1), (1, 0)):
        steps = _steps(nest, data, outputs[-1], sums[-1])
        if steps is not None and outputs[-1] not in map_dims(nest.maps[filters]):
            return Windows(nest, data, filters, outputs, sums, *steps)
    return None


def _steps(nest: Nest, data: int, along: int, inner: int) -> tuple[int, int] | None:
    """The steps along rows of an operand of a loop of the output and of one of windows, or None."""
    results = nest.maps[data].results
    found = linear(results[-1]) if results else None
    if found is None or set(found.dims) != {along, inner}:
        return None
    steps = dict(found.terms)
    if min(steps.values()) < 1 or any({along, inner} & other.used_dims() for other in results[:-1]):
        return None
    return steps[along], steps[inner]


def build_windows(
    before: IRBuilder, windows: Windows, schedule: Schedule, fill: FillOp | None, chain: Chain
) -> None:
    """Insert the grid of an op and of the chain after it; without a fill, sums start from the output."""
    nest, threads = windows.nest, block_threads(schedule.levels())
    count = max(1, min(schedule.levels()[-1].tile[windows.outputs[-1]], windows.row))
    extents: list[Index] = [nest.extent(before, loop) for loop in windows.outputs[:-1]]
    counts = [*extents, -(-windows.row // count)]
    total = product_of(before, counts)
    outer, at = open_grid(before, before.ceildiv(total, threads), threads)
    number = at.plus(at.times(outer.args[0], threads), at.insertion_point.block.args[0])
    with only_where(at, [inside_condition(at, number, total, threads)]) as inside:
        *others, group = split_number(inside, number, counts)
        start = None if fill is None else fill.inputs[0]
        _Thread(windows, chain, inside, others, inside.times(group, count), count).build(start)
    at.insert(scf.ReduceOp())


class _Thread:
    """Neighbouring outputs of a row, which a thread computes."""

    def __init__(
        self, windows: Windows, chain: Chain, at: IRBuilder, others: Sequence[Index], first: Index, count: int
    ):
        """Args: `others` are the indices of the output but the last one, of which `first` is the least."""
        self._windows, self._chain, self._at, self._first, self._count = windows, chain, at, first, count
        self._is_shifted = windows.row % count != 0
        # The last outputs of a row are computed with some before them, so that all loads are inside of it.
        last = windows.row - count
        self._begin = at.binary(arith.MinUIOp, first, last) if self._is_shifted else first
        self._others = others

    def build(self, start: SSAValue | None) -> None:
        """Compute and store the outputs."""
        sums = self._added(self._at, self._windows.sums, {}, self._initial(start))
        for number, value in enumerate(sums):
            self._store(number, value)

    def _output(self, number: int) -> list[Index]:
        """The indices of an output."""
        return [*self._others, self._at.plus(self._begin, number)]

    def _point(self, number: int, window: dict[int, Index]) -> list[Index]:
        """The indices of all loops, for an output and an element of its window."""
        known = {**dict(zip(self._windows.outputs, self._output(number), strict=True)), **window}
        return [known.get(loop, 0) for loop in range(len(self._windows.nest.parallel))]

    def _initial(self, start: SSAValue | None) -> list[SSAValue]:
        """The values that the sums start from."""
        if start is not None:
            return [start] * self._count
        nest = self._windows.nest
        points = (self._point(number, {}) for number in range(self._count))
        return [load_element(self._at, nest.outputs[0], nest.output_maps[0], point) for point in points]

    def _added(
        self, at: IRBuilder, loops: Sequence[int], window: dict[int, Index], sums: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The sums after the loops of a window, of which a row is written out."""
        loop, *inner = loops
        if not inner:
            return self._row(at, window, sums)

        def step(inside: IRBuilder, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._added(inside, inner, {**window, loop: index}, carried)

        return at.loop(0, self._windows.nest.extents[loop] or 0, 1, sums, step)

    def _row(self, at: IRBuilder, window: dict[int, Index], sums: Sequence[SSAValue]) -> list[SSAValue]:
        """The sums after a row of the window: each element is loaded once for all outputs."""
        windows, nest, totals = self._windows, self._windows.nest, list(sums)
        elements: dict[int, SSAValue] = {}
        for k in range(windows.width):
            point = self._point(0, {**window, windows.sums[-1]: k})
            factor = self._loaded(at, windows.filters, point)
            for number in range(self._count):
                place = windows.place(number, k)
                if place not in elements:
                    own = self._point(number, {**window, windows.sums[-1]: k})
                    elements[place] = self._loaded(at, windows.data, own)
                operands = [elements[place], factor]
                a, b = operands if windows.data == 0 else operands[::-1]
                totals[number] = self._body(at, a, b, totals[number], nest)
        return totals

    def _loaded(self, at: IRBuilder, operand: int, point: Sequence[Index]) -> SSAValue:
        """An element of an operand; pools have one for the shape of windows, which nothing reads."""
        nest, value = self._windows.nest, self._windows.nest.op.operands[operand]
        if not nest.op.body.block.args[operand].uses:
            return value
        return load_element(at, value, nest.maps[operand], point)

    def _body(self, at: IRBuilder, a: SSAValue, b: SSAValue, total: SSAValue, nest: Nest) -> SSAValue:
        """A step of the reduction for one output."""
        if is_multiply_add(nest.op.body.block):
            return at.value(math.FmaOp(a, b, total))
        return computed(at, nest, [a, b, total], self._point(0, {}))[0]

    def _store(self, number: int, value: SSAValue) -> None:
        """Compute the ops of the chain for an output, and store it, unless another thread has it."""
        at, point, exists = self._at, self._output(number), None
        if self._is_shifted:
            exists = at.compare("uge", at.materialize(point[-1]), at.materialize(self._first))
        with only_where(at, [exists]) as inside:
            self._chain.points(inside, {self._windows.nest.outputs[0]: value}, point)
