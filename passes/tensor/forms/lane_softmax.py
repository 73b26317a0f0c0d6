"""Softmax of the columns of a matrix, with one column in each vector lane: no step combines lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.ir import SSAValue

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import NOT_POSITIVE
from stepwell.dialects.tensor_ir.transfers import Vector, read, vector_type, write
from stepwell.dialects.tensor_ir.vector_values import greater
from stepwell.passes.tensor.forms.structured_ops import filled, plus, times

Carried: TypeAlias = Sequence[SSAValue]
"""Tensors and vectors carried by loops."""
_Step: TypeAlias = Callable[[IRBuilder, Sequence[SSAValue], Carried], Carried]
"""Emits the work for some rows of the matrix, from their indices and the carried values, chains last."""
_OfLanes: TypeAlias = Callable[[IRBuilder, "_Lanes", Carried], Carried]
"""Emits the work for a vector of columns."""


@dataclass(frozen=True)
class LaneSoftmax:
    """A softmax of columns, `lanes` of them in a vector, with `chains` of maxima and sums along the rows."""

    columns: int
    """A multiple of 8."""
    lanes: int
    chains: int
    zero_masked: bool
    """Whether a column of -inf gives zeros instead of NaN."""

    def of(self, emit: IRBuilder, x: SSAValue, rows: Index) -> tuple[SSAValue, SSAValue]:
        """
        The tensor `x` overwritten by exp(x - max) of each column, and the inverses of the columns' sums.

        ```mlir
        %p, %inverses = scf.for %lane = … step 16 { // vectors of columns
          %top = scf.for %row … { reads, the greater ones }
          %sum = scf.for %row … { reads, math.exp {sched.not_positive}, writes, arith.addf }
        }
        ```
        Args: `x` is [rows, columns] of f32.
        """

        def body(emit: IRBuilder, lanes: _Lanes, carried: Carried) -> Carried:
            x, inverses = carried
            shift = lanes.finite(emit, lanes.maximum(emit, x, rows))
            x, total = lanes.powers(emit, x, rows, shift)
            return [x, lanes.write(emit, lanes.inverse(emit, total, self.zero_masked), inverses)]

        x, inverses = self.over_lanes(emit, [x, emit.empty(f32, [self.columns])], body)
        return x, inverses

    def over_lanes(self, emit: IRBuilder, carried: Carried, body: _OfLanes) -> Carried:
        """Values carried through `body` for each vector of columns in turn."""

        def of_vector(width: int) -> Callable[[IRBuilder, SSAValue, Carried], Carried]:
            type = vector_type(f32, (width,))
            return lambda emit, first, carried: body(emit, _Lanes(first, type, self.chains), carried)

        whole = self.columns // self.lanes * self.lanes
        held = emit.loop(0, whole, self.lanes, carried, of_vector(self.lanes))
        if whole != self.columns:
            held = of_vector(self.columns - whole)(emit, emit.materialize(whole), held)
        return held


@dataclass(frozen=True)
class OnlineSoftmax:
    """
    The state of a softmax of columns whose rows come in blocks: maxima and sums of powers so far.

    Earlier powers are too large by exp(top now - top then), which is known with the next block only: sums
    made from them are then scaled by `factors` (Milakov and Gimelshein, "Online normalizer calculation for
    softmax", 2018).
    """

    softmax: LaneSoftmax
    tops: SSAValue
    totals: SSAValue

    @staticmethod
    def start(emit: IRBuilder, softmax: LaneSoftmax) -> OnlineSoftmax:
        """The state before any row: maxima of -inf, sums of 0."""
        tops, totals = (filled(emit, emit.empty(f32, [softmax.columns]), number) for number in (-inf, 0))
        return OnlineSoftmax(softmax, tops, totals)

    def add(self, emit: IRBuilder, x: SSAValue, rows: Index) -> tuple[SSAValue, SSAValue, OnlineSoftmax]:
        """
        exp(x - top) of a block's columns, written over `x`; the factors of earlier sums; and the next state.
        """

        def body(emit: IRBuilder, lanes: _Lanes, carried: Carried) -> Carried:
            x, tops, totals, factors = carried
            before, sums = lanes.read(emit, tops), lanes.read(emit, totals)
            top = lanes.maximum(emit, x, rows, before)
            shift = lanes.finite(emit, top)
            x, total = lanes.powers(emit, x, rows, shift)
            factor = _power(emit, before, shift)
            total = plus(emit, times(emit, sums, factor), total)
            states = (top, tops), (total, totals), (factor, factors)
            return [x, *(lanes.write(emit, value, into) for value, into in states)]

        held = [x, self.tops, self.totals, emit.empty(f32, [self.softmax.columns])]
        x, tops, totals, factors = self.softmax.over_lanes(emit, held, body)
        return x, factors, OnlineSoftmax(self.softmax, tops, totals)

    def inverses(self, emit: IRBuilder) -> SSAValue:
        """1 / sum of powers of each column."""
        softmax = self.softmax

        def body(emit: IRBuilder, lanes: _Lanes, carried: Carried) -> Carried:
            total = lanes.read(emit, self.totals)
            return [lanes.write(emit, lanes.inverse(emit, total, softmax.zero_masked), carried[0])]

        return softmax.over_lanes(emit, [emit.empty(f32, [softmax.columns])], body)[0]


@dataclass(frozen=True)
class _Lanes:
    """A vector of columns of matrices, from `first` on, as many as `type` has lanes."""

    first: SSAValue
    type: Vector
    chains: int
    """Independent chains along the rows."""

    def read(self, emit: IRBuilder, row: SSAValue) -> SSAValue:
        """The columns' elements of a one-dimensional tensor."""
        return read(emit, row, [self.first], self.type, (0,))

    def write(self, emit: IRBuilder, value: SSAValue, into: SSAValue) -> SSAValue:
        """A one-dimensional tensor with the columns' elements replaced."""
        return write(emit, value, into, [self.first], (0,))

    def finite(self, emit: IRBuilder, top: SSAValue) -> SSAValue:
        """The number to subtract from a column: its maximum, or 0 for -inf, since exp(-inf - 0) is 0."""
        is_masked = emit.compare("oeq", top, self._number(emit, -inf))
        return emit.value(SelectOp(is_masked, self._number(emit, 0), top))

    def inverse(self, emit: IRBuilder, total: SSAValue, zero_masked: bool) -> SSAValue:
        """1 / sum of powers; a column of -inf, whose sum is 0, gives infinity, or 1 with `zero_masked`."""
        one = self._number(emit, 1)
        if zero_masked:
            is_masked = emit.compare("oeq", total, self._number(emit, 0))
            total = emit.value(SelectOp(is_masked, one, total))
        return emit.value(arith.DivfOp(one, total))

    def _number(self, emit: IRBuilder, number: float) -> SSAValue:
        """A constant in all lanes."""
        return emit.number(number, self.type)

    def maximum(self, emit: IRBuilder, x: SSAValue, rows: Index, start: SSAValue | None = None) -> SSAValue:
        """
        The maximum of `start` and each column, an instruction for each vector; exp propagates NaN later.
        """

        def step(inside: IRBuilder, places: Sequence[SSAValue], tops: Carried) -> Carried:
            found = [self._of_row(inside, x, row) for row in places]
            pairs = zip(tops, found, strict=True)
            return [greater(inside, a, b) for a, b in pairs]

        start = self._number(emit, -inf) if start is None else start
        (top,) = self._along_rows(emit, rows, [], start, step, greater)
        return top

    def powers(self, emit: IRBuilder, x: SSAValue, rows: Index, shift: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The matrix with exp(x - shift) in the columns, and the columns' sums."""

        def step(inside: IRBuilder, places: Sequence[SSAValue], carried: Carried) -> Carried:
            x, *sums = carried
            found = [self._of_row(inside, x, row) for row in places]
            powers = [_power(inside, value, shift) for value in found]
            for row, power in zip(places, powers, strict=True):
                x = write(inside, power, x, [row, self.first], (1,))
            return [x, *(plus(inside, a, b) for a, b in zip(sums, powers, strict=True))]

        x, total = self._along_rows(emit, rows, [x], self._number(emit, 0), step, plus)
        return x, total

    def _of_row(self, emit: IRBuilder, x: SSAValue, row: SSAValue) -> SSAValue:
        """The columns' elements of a row of the matrix."""
        return read(emit, x, [row, self.first], self.type, (1,))

    def _along_rows(
        self,
        emit: IRBuilder,
        rows: Index,
        carried: Carried,
        start: SSAValue,
        step: _Step,
        combine: Callable[[IRBuilder, SSAValue, SSAValue], SSAValue],
    ) -> Carried:
        """
        Apply `step` to the rows, several at a time with a chain for each, then combine the chains.

        Args: `start` is the first value of a chain; `carried` precedes the chains in what `step` consumes and
        returns. Rows that are left over go through the first chain, one at a time.
        Returns: `carried`, and the combined chains.
        """

        def body(count: int) -> Callable[[IRBuilder, SSAValue, Carried], Carried]:
            def steps(emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
                return step(emit, [emit.materialize(emit.plus(row, i)) for i in range(count)], carried)

            return steps

        chains = self.chains
        whole = emit.rounded_down(rows, chains)
        held = list(emit.loop(0, whole, chains, [*carried, *[start] * chains], body(chains)))
        first, others = held[: len(carried) + 1], held[len(carried) + 1 :]
        *carried, total = emit.loop(whole, rows, 1, first, body(1)) if whole != rows else first
        for chain in others:
            total = combine(emit, total, chain)
        return [*carried, total]


def _power(emit: IRBuilder, x: SSAValue, top: SSAValue) -> SSAValue:
    """e^(x - top), for x not above `top`."""
    power = math.ExpOp(emit.value(arith.SubfOp(x, top)))
    power.attributes[NOT_POSITIVE] = UnitAttr()
    return emit.value(power)
