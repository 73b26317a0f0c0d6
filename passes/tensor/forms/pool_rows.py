"""
Pools of feature maps whose rows fit vectors: each input row is reduced along the windows' width once.

All windows that cover the row share the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder, dense_attr
from stepwell.dialects.linalg_ext.pool import PoolOp
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.tensor_ir.transposes import assembled
from stepwell.dialects.tensor_ir.vector_values import greater
from stepwell.dialects.tensor_ir.window_axis import WindowAxis


def pool_by_rows(op: PoolOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    The maxima or means of a pool, plane by plane.

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
    `strips` vectors of `lanes` columns go down a plane together; up to `unrolled` rows are written out.
    """
    samples, channels = (dim_size(emit, op.init, d) for d in (0, 1))
    firsts, most = _starts(op.axes[1].count, sizes["lanes"]), sizes["strips"]

    def of_sample(emit: IRBuilder, sample: SSAValue, result: SSAValue) -> SSAValue:
        def of_channel(emit: IRBuilder, channel: SSAValue, result: SSAValue) -> SSAValue:
            for start in range(0, len(firsts), most):
                result = _Strips(op, sizes, (sample, channel), firsts[start : start + most]).run(emit, result)
            return result

        return emit.fold(0, channels, 1, result, of_channel, parallel=True)

    return emit.fold(0, samples, 1, op.init, of_sample, parallel=True)


def _starts(columns: int, lanes: int) -> list[int]:
    """The first column of each vector of a row; the last two vectors may overlap."""
    return sorted({min(start, max(columns - lanes, 0)) for start in range(0, columns, lanes)})


@dataclass(frozen=True)
class _Strips:
    """Some vectors of columns of the result, which begin at `firsts`, in one plane."""

    op: PoolOp
    sizes: Mapping[str, int]
    plane: tuple[SSAValue, ...]
    firsts: Sequence[int]

    @property
    def _lanes(self) -> int:
        return self.sizes["lanes"]

    @cached_property
    def _axes(self) -> list[WindowAxis]:
        """The windows along the rows, and along the columns."""
        return self.op.axes

    @property
    def _is_mean(self) -> bool:
        return self.op.kind.data == "avg"

    @property
    def _start(self) -> float:
        """The identity of the reduction: -inf for maxima, 0 for sums."""
        return 0 if self._is_mean else float("-inf")

    def _combined(self, emit: IRBuilder, values: Sequence[SSAValue]) -> SSAValue:
        """The maximum or sum of vectors, lane by lane."""
        total, *others = values
        for value in others:
            if not self._is_mean:
                total = greater(emit, total, value)
            else:
                total = emit.value(arith.AddfOp(total, value))
        return total

    def run(self, emit: IRBuilder, result: SSAValue) -> SSAValue:
        """The tensor `result` with these columns written: a few rows unrolled, many in a loop."""
        begin, stop = self._axes[0].without_padding()
        rows, made = self._axes[0].count, dict[int, Sequence[SSAValue]]()
        is_short = stop - begin <= self.sizes["unrolled"]
        for row in range(rows) if is_short else (*range(begin), *range(stop, rows)):
            for line in self._lines(row):
                if line not in made:
                    made[line] = self._along(emit, line)
            seen = [made[line] for line in self._lines(row)]
            result = self._write(emit, row, row, seen, result)
        return result if is_short else self._inside(emit, begin, stop, result)

    def _lines(self, row: int) -> list[int]:
        """The rows of the input that are covered by the windows of a row of the result."""
        low = row * self._axes[0].stride - self._axes[0].begin
        size = self._axes[0].size
        return [line for line in range(low, low + self._axes[0].kernel) if 0 <= line < size]

    def _inside(self, emit: IRBuilder, begin: int, stop: int, result: SSAValue) -> SSAValue:
        """
        The tensor `result` with all rows whose windows need no padding: a loop carries the rows needed again.
        """
        stride, height, each = self._axes[0].stride, self._axes[0].kernel, len(self.firsts)
        kept = max(0, height - stride)
        ahead = [value for line in self._lines(begin)[:kept] for value in self._along(emit, line)]

        def step(emit: IRBuilder, row: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            *before, result = carried
            low = emit.plus(emit.times(row, stride), -self._axes[0].begin)
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
        low = first * self._axes[1].stride - self._axes[1].begin
        points = range(low, low + self._axes[1].kernel)
        seen = [self._columns(emit, line, point, start, known) for point in points]
        seen = [value for value in seen if value is not start]
        # A maximum starts at -inf, so that a NaN is never chosen.
        return self._combined(emit, [start, *seen] if not self._is_mean or not seen else seen)

    def _columns(
        self, emit: IRBuilder, line: Index, low: int, start: SSAValue, known: dict[int, SSAValue]
    ) -> SSAValue:
        """
        The cells of a row from column `low` on, one for each window; `start` outside the plane.

        `known` contains the vectors read from the row so far, by their first column.
        """
        stride, width = self._axes[1].stride, self._axes[1].size
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
        element = tensor_element(self.op.x)
        type = vector_type(element, (self._lanes,))
        beyond = None
        if column + self._lanes > self._axes[1].size:
            beyond = emit.number(self._start, element)
        at = [*self.plane, emit.materialize(line), emit.materialize(column)]
        value = read(emit, self.op.x, at, type, (3,), beyond)
        return value if element == f32 else emit.value(arith.ExtFOp(value, vector_type(f32, (self._lanes,))))

    def _write(
        self, emit: IRBuilder, known: int, row: Index, seen: Sequence[Sequence[SSAValue]], result: SSAValue
    ) -> SSAValue:
        """
        The tensor `result` after the windows of these columns are written to it, from reduced rows.

        `known` is a row whose windows have as many elements inside the input as the windows of `row`.
        """
        element, columns = tensor_element(self.op.x), self._axes[1].count
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
        if not self._is_mean:
            return value
        last, type = self._axes[1].count - 1, vector_type(f32, (self._lanes,))
        with_pads, (rows, columns) = self.op.with_pads is not None, self._axes
        along = [columns.cells(with_pads, min(first + lane, last)) for lane in range(self._lanes)]
        cells = [count * rows.cells(with_pads, row) for count in along]
        factors = dense_attr(type, [1 / count for count in cells])
        return emit.value(arith.MulfOp(value, emit.constant(factors, type)))
