"""Softmax of the columns of a matrix, a column in each lane of vectors: no step goes across lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import UnitAttr, f32
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.sched import NOT_POSITIVE
from stepwell.dialects.tensor_ir.emit import Emitter, Index, dense_attr, scalar_attr
from stepwell.dialects.tensor_ir.transfers import Vector, read, vector_type, write

LANES = 8
"""The columns are a multiple of this."""
# Columns in a vector but for the last one, which may have half as many; narrower registers take several.
_VECTOR = 16
# Independent maxima and sums: each waits some cycles for the one before.
_CHAINS = 4

Carried: TypeAlias = Sequence[SSAValue]
"""The tensors and vectors that loops carry."""
_Step: TypeAlias = Callable[[Emitter, Sequence[SSAValue], Carried], Carried]
"""Emits what is done to rows of the matrix: takes their indices, and what is carried, chains last."""
_OfLanes: TypeAlias = Callable[[Emitter, "_Lanes", Carried], Carried]
"""Emits what is done to a vector of columns."""


def lane_softmax(
    emit: Emitter, x: SSAValue, rows: Index, columns: int, *, zero_masked: bool
) -> tuple[SSAValue, SSAValue]:
    """
    exp(x - max) of each column, in the place of `x`, and one over its sums.

    ```mlir
    %p, %inverses = scf.for %lane = … step 16 { // vectors of columns
      %top = scf.for %row … { reads, the greater ones }
      %sum = scf.for %row … { reads, math.exp {sched.not_positive}, writes, arith.addf }
    }
    ```
    Args: `x` is [rows, columns] of f32, the columns a multiple of `LANES`; with `zero_masked` a column of
    -inf gives zeros instead of NaN.
    """

    def body(emit: Emitter, lanes: _Lanes, carried: Carried) -> Carried:
        x, inverses = carried
        shift = lanes.finite(emit, lanes.maximum(emit, x, rows))
        x, total = lanes.powers(emit, x, rows, shift)
        return [x, lanes.write(emit, lanes.inverse(emit, total, zero_masked), inverses)]

    x, inverses = _over_lanes(emit, columns, [x, emit.empty(f32, [columns])], body)
    return x, inverses


@dataclass(frozen=True)
class OnlineSoftmax:
    """
    The softmax of columns whose rows come in blocks: what is known of them so far, and how it goes on.

    Earlier powers are too large by exp(top now - top then), which is known with the next block only: what was
    summed from them is scaled by `factors` then (Milakov and Gimelshein, "Online normalizer calculation for
    softmax", 2018).
    """

    tops: SSAValue
    totals: SSAValue

    @staticmethod
    def start(emit: Emitter, columns: int) -> OnlineSoftmax:
        """Of no rows."""
        tops, totals = (
            emit.value(FillOp([emit.constants.of(scalar_attr(f32, n), f32)], [emit.empty(f32, [columns])]))
            for n in (-inf, 0)
        )
        return OnlineSoftmax(tops, totals)

    def add(
        self, emit: Emitter, x: SSAValue, rows: Index, columns: int
    ) -> tuple[SSAValue, SSAValue, OnlineSoftmax]:
        """exp(x - top) of a block's columns, in the place of `x`; the factors; and the state after it."""

        def body(emit: Emitter, lanes: _Lanes, carried: Carried) -> Carried:
            x, tops, totals, factors = carried
            before, sums = lanes.read(emit, tops), lanes.read(emit, totals)
            top = lanes.maximum(emit, x, rows, before)
            shift = lanes.finite(emit, top)
            x, total = lanes.powers(emit, x, rows, shift)
            factor = _power(emit, before, shift)
            total = _sum(emit, emit.value(arith.MulfOp(sums, factor)), total)
            states = (top, tops), (total, totals), (factor, factors)
            return [x, *(lanes.write(emit, value, into) for value, into in states)]

        held = [x, self.tops, self.totals, emit.empty(f32, [columns])]
        x, tops, totals, factors = _over_lanes(emit, columns, held, body)
        return x, factors, OnlineSoftmax(tops, totals)

    def inverses(self, emit: Emitter, columns: int, *, zero_masked: bool) -> SSAValue:
        """One over the sums; with `zero_masked` one for a column of -inf."""

        def body(emit: Emitter, lanes: _Lanes, carried: Carried) -> Carried:
            total = lanes.read(emit, self.totals)
            return [lanes.write(emit, lanes.inverse(emit, total, zero_masked), carried[0])]

        return _over_lanes(emit, columns, [emit.empty(f32, [columns])], body)[0]


def _over_lanes(emit: Emitter, columns: int, carried: Carried, body: _OfLanes) -> Carried:
    """What `body` makes of vectors of columns, one after the other."""

    def of_vector(width: int) -> Callable[[Emitter, SSAValue, Carried], Carried]:
        type = vector_type(f32, (width,))
        return lambda emit, first, carried: body(emit, _Lanes(first, type), carried)

    whole = columns // _VECTOR * _VECTOR
    held = emit.loop(0, whole, _VECTOR, carried, of_vector(_VECTOR))
    if whole != columns:
        held = of_vector(columns - whole)(emit, emit.constants.index(whole), held)
    return held


@dataclass(frozen=True)
class _Lanes:
    """Some columns of matrices, from `first` on: as many as a vector of this type has."""

    first: SSAValue
    type: Vector

    def read(self, emit: Emitter, row: SSAValue) -> SSAValue:
        """Their elements of a row."""
        return read(emit, row, [self.first], self.type, (0,))

    def write(self, emit: Emitter, value: SSAValue, into: SSAValue) -> SSAValue:
        """A row with their elements replaced."""
        return write(emit, value, into, [self.first], (0,))

    def finite(self, emit: Emitter, top: SSAValue) -> SSAValue:
        """What is subtracted from a column: 0 instead of -inf, for exp(-inf - 0) is 0."""
        is_masked = emit.compare("oeq", top, self._number(emit, -inf))
        return emit.value(SelectOp(is_masked, self._number(emit, 0), top))

    def inverse(self, emit: Emitter, total: SSAValue, zero_masked: bool) -> SSAValue:
        """One over the sums of powers; of a column of -inf, where they are 0, infinity or, if asked, one."""
        one = self._number(emit, 1)
        if zero_masked:
            is_masked = emit.compare("oeq", total, self._number(emit, 0))
            total = emit.value(SelectOp(is_masked, one, total))
        return emit.value(arith.DivfOp(one, total))

    def _number(self, emit: Emitter, number: float) -> SSAValue:
        return emit.constants.of(dense_attr(self.type, [number]), self.type)

    def maximum(self, emit: Emitter, x: SSAValue, rows: Index, start: SSAValue | None = None) -> SSAValue:
        """The greatest of `start` and each column, an instruction an element: a NaN is found by exp again."""

        def step(inside: Emitter, places: Sequence[SSAValue], tops: Carried) -> Carried:
            found = [self._of_row(inside, x, row) for row in places]
            pairs = zip(tops, found, strict=True)
            return [greater(inside, a, b) for a, b in pairs]

        start = self._number(emit, -inf) if start is None else start
        (top,) = _along_rows(emit, rows, [], start, step, greater)
        return top

    def powers(self, emit: Emitter, x: SSAValue, rows: Index, shift: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The matrix with exp(x - shift) in the columns, and their sums."""

        def step(inside: Emitter, places: Sequence[SSAValue], carried: Carried) -> Carried:
            x, *sums = carried
            found = [self._of_row(inside, x, row) for row in places]
            powers = [_power(inside, value, shift) for value in found]
            for row, power in zip(places, powers, strict=True):
                x = write(inside, power, x, [row, self.first], (1,))
            return [x, *(_sum(inside, a, b) for a, b in zip(sums, powers, strict=True))]

        x, total = _along_rows(emit, rows, [x], self._number(emit, 0), step, _sum)
        return x, total

    def _of_row(self, emit: Emitter, x: SSAValue, row: SSAValue) -> SSAValue:
        return read(emit, x, [row, self.first], self.type, (1,))


def _power(emit: Emitter, x: SSAValue, top: SSAValue) -> SSAValue:
    """e^(x - top) of what is not above `top`."""
    power = math.ExpOp(emit.value(arith.SubfOp(x, top)))
    power.attributes[NOT_POSITIVE] = UnitAttr()
    return emit.value(power)


def greater(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """The greater one of each lane; a NaN among `b` never is, one among `a` always."""
    return emit.value(SelectOp(emit.compare("ogt", b, a), b, a))


def _sum(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.value(arith.AddfOp(a, b))


def _along_rows(
    emit: Emitter,
    rows: Index,
    carried: Carried,
    start: SSAValue,
    step: _Step,
    combine: Callable[[Emitter, SSAValue, SSAValue], SSAValue],
) -> Carried:
    """
    Step along the rows, several at a time, each with a chain of its own; then combine the chains.

    Args: chains begin as `start`; `carried` is what `step` takes and gives before them. The rest of the rows
    goes through the first chain, one at a time. Returns: `carried`, and the combined chains.
    """

    def body(count: int) -> Callable[[Emitter, SSAValue, Carried], Carried]:
        def steps(emit: Emitter, row: SSAValue, carried: Carried) -> Carried:
            return step(emit, [emit.materialize(emit.plus(row, i)) for i in range(count)], carried)

        return steps

    whole = emit.rounded_down(rows, _CHAINS)
    held = list(emit.loop(0, whole, _CHAINS, [*carried, *[start] * _CHAINS], body(_CHAINS)))
    first, others = held[: len(carried) + 1], held[len(carried) + 1 :]
    *carried, total = emit.loop(whole, rows, 1, first, body(1)) if whole != rows else first
    for chain in others:
        total = combine(emit, total, chain)
    return [*carried, total]
