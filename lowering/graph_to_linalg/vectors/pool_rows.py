"""
Pools of feature maps whose rows fit vectors: each input row is reduced along the windows' width once.

All windows that cover the row share the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import BlockArgument, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.costs.kernels import POOLS
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder, dense_attr
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.tensor_ir.transposes import assembled
from stepwell.dialects.tensor_ir.vector_values import greater
from stepwell.dialects.types import tensor_of
from stepwell.lowering.graph_to_linalg.pool_windows import Windows
from stepwell.lowering.graph_to_linalg.support import empty, enclosing_kernel, extent, is_returned


def pool_by_rows(
    op: graph.PoolOp, windows: Windows, counts: Callable[[int, int], int] | None, rewriter: PatternRewriter
) -> SSAValue | None:
    """
    The maxima or means of a pool, plane by plane; None where its rows are not read as vectors.

    ```mlir
    scf.for %channel … {                                       // parallel
      %h0 = …, %h1 = …                                         // maxima along two rows
      scf.for %row … iter_args(%a = %h0, %b = %h1) {
        %x = vector.transfer_read %x[%n, %channel, %below, %c0]  // a few, from neighbouring columns
        %c = …                                                 // maxima along the next row
        …                                                      // the greatest of %a, %b and %c is written
        scf.yield %b, %c
      }
    }
    ```
    Args: `counts` gives, for a mean, the number of cells of a window by spatial axis and position.
    """
    if not _has_vector_rows(op, windows):
        return None
    result = empty(tensor_of(op.outputs[0]), rewriter)
    emit = IRBuilder.before(op, Constants(enclosing_kernel(rewriter)))
    sizes = [dim.value if dim.is_static else extent(dim, rewriter) for dim in windows.out[:2]]

    def of_channel(emit: IRBuilder, plane: Sequence[SSAValue], result: SSAValue) -> SSAValue:
        firsts, most = _starts(windows.out[3].value), _most_strips(windows)
        for start in range(0, len(firsts), most):
            strips = _Strips(op, windows, counts, tuple(plane), firsts[start : start + most])
            result = strips.run(emit, result)
        return result

    def of_sample(emit: IRBuilder, sample: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return emit.loop(
            0,
            sizes[1],
            1,
            carried,
            lambda emit, channel, inner: [of_channel(emit, [sample, channel], inner[0])],
            parallel=True,
        )

    made = emit.loop(0, sizes[0], 1, [result], of_sample, parallel=True)[0]
    rewriter.insertion_point = emit.insertion_point
    return made


def _has_vector_rows(op: graph.PoolOp, windows: Windows) -> bool:
    """
    Whether planes are row-major in a kernel argument, and small windows on them overlap or need padding.
    """
    extents = [*windows.out[2:], *windows.sizes]
    if windows.rank != 2 or windows.axes != [2, 3] or windows.data.block_axis("C") is not None:
        return False
    if not all(dim.is_static and dim.value > 0 for dim in extents) or any(d > 1 for d in windows.dilations):
        return False
    planes = windows.out[0] * windows.out[1]
    corners = [(axis, at) for axis in (0, 1) for at in (0, extents[axis].value - 1)]
    return (
        isinstance(op.x, BlockArgument)
        and is_returned(op.outputs[0])
        and tensor_of(op.x).element_type in (f32, f16, bf16)
        and windows.out[3].value >= POOLS.least_columns
        and windows.strides[1] <= MACHINE.shuffled_stride
        and windows.kernel[0] <= POOLS.most_points
        and all(windows.cells(with_pads=False, axis=axis, position=at) for axis, at in corners)
        and not (planes.is_static and planes.value < POOLS.least_planes)
    )


def _most_strips(windows: Windows) -> int:
    """The number of vectors of columns that are processed together, so that their rows stay in registers."""
    return POOLS.kept_vectors // max(1, windows.kernel[0] - windows.strides[0]) or 1


def _starts(columns: int) -> list[int]:
    """The first column of each vector of a row; the last two vectors may overlap."""
    return sorted({min(start, max(columns - POOLS.lanes, 0)) for start in range(0, columns, POOLS.lanes)})


@dataclass(frozen=True)
class _Strips:
    """Some vectors of columns of the result, which begin at `firsts`, in one plane."""

    op: graph.PoolOp
    windows: Windows
    counts: Callable[[int, int], int] | None
    plane: tuple[SSAValue, ...]
    firsts: Sequence[int]

    @property
    def _lanes(self) -> int:
        """The lanes of a vector: a power of two, as many as columns or `POOLS.lanes`."""
        columns = self.windows.out[3].value
        return min(POOLS.lanes, 1 << (columns - 1).bit_length())

    @property
    def _start(self) -> float:
        """The identity of the reduction: -inf for maxima, 0 for sums."""
        return float("-inf") if self.counts is None else 0

    def _combined(self, emit: IRBuilder, values: Sequence[SSAValue]) -> SSAValue:
        """The maximum or sum of vectors, lane by lane."""
        total, *others = values
        for value in others:
            if self.counts is None:
                total = greater(emit, total, value)
            else:
                total = emit.value(arith.AddfOp(total, value))
        return total

    def run(self, emit: IRBuilder, result: SSAValue) -> SSAValue:
        """The tensor `result` with these columns written: a few rows unrolled, many in a loop."""
        begin, stop = self.windows.without_padding(0)
        rows, made = self.windows.out[2].value, dict[int, Sequence[SSAValue]]()
        is_short = stop - begin <= POOLS.unrolled_rows
        for row in range(rows) if is_short else (*range(begin), *range(stop, rows)):
            for line in self._lines(row):
                if line not in made:
                    made[line] = self._along(emit, line)
            seen = [made[line] for line in self._lines(row)]
            result = self._write(emit, row, row, seen, result)
        return result if is_short else self._inside(emit, begin, stop, result)

    def _lines(self, row: int) -> list[int]:
        """The rows of the input that are covered by the windows of a row of the result."""
        low = row * self.windows.strides[0] - self.windows.begins[0]
        size = self.windows.sizes[0].value
        return [line for line in range(low, low + self.windows.kernel[0]) if 0 <= line < size]

    def _inside(self, emit: IRBuilder, begin: int, stop: int, result: SSAValue) -> SSAValue:
        """
        The tensor `result` with all rows whose windows need no padding: a loop carries the rows needed again.
        """
        stride, height, each = self.windows.strides[0], self.windows.kernel[0], len(self.firsts)
        kept = max(0, height - stride)
        ahead = [value for line in self._lines(begin)[:kept] for value in self._along(emit, line)]

        def step(emit: IRBuilder, row: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            *before, result = carried
            low = emit.plus(emit.times(row, stride), -self.windows.begins[0])
            seen: list[Sequence[SSAValue]] = [before[i : i + each] for i in range(0, len(before), each)]
            seen += [self._along(emit, emit.plus(low, point)) for point in range(kept, height)]
            result = self._write(emit, begin, row, seen, result)
            return [*(value for line in seen[stride : stride + kept] for value in line), result]

        return emit.loop(begin, stop, 1, [*ahead, result], step)[-1]

    def _along(self, emit: IRBuilder, line: Index) -> list[SSAValue]:
        """An input row, reduced along the width of the windows, for each vector of columns."""
        known: dict[int, SSAValue] = {}
        return [self._reduced(emit, line, first, known) for first in self.firsts]

    def _reduced(self, emit: IRBuilder, line: Index, first: int, known: dict[int, SSAValue]) -> SSAValue:
        """An input row, reduced along the width of the windows, for the vector of columns from `first` on."""
        type = vector_type(f32, (self._lanes,))
        start = emit.number(self._start, type)
        low = first * self.windows.strides[1] - self.windows.begins[1]
        points = range(low, low + self.windows.kernel[1])
        seen = [self._columns(emit, line, point, start, known) for point in points]
        seen = [value for value in seen if value is not start]
        # A maximum starts at -inf, so that a NaN is never chosen.
        return self._combined(emit, [start, *seen] if self.counts is None or not seen else seen)

    def _columns(
        self, emit: IRBuilder, line: Index, low: int, start: SSAValue, known: dict[int, SSAValue]
    ) -> SSAValue:
        """
        The cells of a row from column `low` on, one for each window; `start` outside the plane.

        `known` contains the vectors read from the row so far, by their first column.
        """
        stride, width = self.windows.strides[1], self.windows.sizes[1].value
        columns = [low + lane * stride for lane in range(self._lanes)]
        inside = [column for column in columns if 0 <= column < width]
        if not inside:
            return start
        firsts = range(inside[0], inside[-1] + 1, self._lanes)
        for first in firsts:
            if first not in known:
                known[first] = self._read(emit, line, first)
        sources = [known[first] for first in firsts]
        outside = len(sources) * self._lanes
        last = outside - 1 if firsts[-1] + self._lanes > width else outside
        if columns[-1] >= width and last < outside:
            # The last lane, read beyond the end of the row, is `start` already.
            lanes = [min(column - inside[0], last) if column >= 0 else outside for column in columns]
        else:
            lanes = [column - inside[0] if column in inside else outside for column in columns]
        return assembled(emit, [*sources, start], lanes)

    def _read(self, emit: IRBuilder, line: Index, column: int) -> SSAValue:
        """
        A vector of a row's elements in f32; lanes beyond the row's end contain the reduction's identity.
        """
        element = tensor_of(self.op.x).element_type
        type = vector_type(element, (self._lanes,))
        beyond = None
        if column + self._lanes > self.windows.sizes[1].value:
            beyond = emit.number(self._start, element)
        at = [*self.plane, emit.materialize(line), emit.materialize(column)]
        value = read(emit, self.op.x, at, type, (3,), beyond)
        return value if element == f32 else emit.value(arith.ExtFOp(value, vector_type(f32, (self._lanes,))))

    def _write(
        self, emit: IRBuilder, known: int, row: Index, seen: Sequence[Sequence[SSAValue]], result: SSAValue
    ) -> SSAValue:
        """
        The tensor `result` with the windows of these columns written, from reduced rows.

        `known` is a row whose windows have as many cells as those of `row`.
        """
        element, columns = tensor_of(self.op.x).element_type, self.windows.out[3].value
        for number, first in enumerate(self.firsts):
            value = self._result(emit, known, first, [line[number] for line in seen])
            if element != f32:
                value = emit.value(arith.TruncFOp(value, vector_type(element, (self._lanes,))))
            at = [*self.plane, emit.materialize(row), emit.materialize(first)]
            result = write(emit, value, result, at, (3,), in_bounds=first + self._lanes <= columns)
        return result

    def _result(self, emit: IRBuilder, row: int, first: int, seen: Sequence[SSAValue]) -> SSAValue:
        """
        The results of windows from their reduced rows: the maximum, or the sum times 1 / number of cells.
        """
        value = self._combined(emit, seen)
        if self.counts is None:
            return value
        last, type = self.windows.out[3].value - 1, vector_type(f32, (self._lanes,))
        cells = [self.counts(1, min(first + lane, last)) * self.counts(0, row) for lane in range(self._lanes)]
        factors = dense_attr(type, [1 / count for count in cells])
        return emit.value(arith.MulfOp(value, emit.constant(factors, type)))
