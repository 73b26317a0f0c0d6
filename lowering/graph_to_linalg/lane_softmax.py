"""Softmax of the columns of a matrix, a column in each lane of vectors: no step goes across lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr, f32, i1, i64
from xdsl.ir import SSAValue

from stepwell.dialects.arith import CmpfOp, SelectOp, like
from stepwell.passes.tensor.emit import Emitter, Index, dense_attr
from stepwell.passes.tensor.transfers import Vector, read, vector_type, write

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


def lane_softmax(
    emit: Emitter, x: SSAValue, rows: Index, columns: int, *, zero_masked: bool
) -> tuple[SSAValue, SSAValue]:
    """
    exp(x - max) of each column, in the place of `x`, and one over its sums.

    ```mlir
    %p, %inverses = scf.for %lane = … step 16 { // vectors of columns
      %top = scf.for %row … { reads, the greater ones }
      %sum = scf.for %row … { reads, math.exp, writes, arith.addf }
    }
    ```
    Args: `x` is [rows, columns] of f32, the columns a multiple of `LANES`; with `zero_masked` a column of
    -inf gives zeros instead of NaN.
    """

    def of_vector(width: int) -> Callable[[Emitter, SSAValue, Carried], Carried]:
        def body(emit: Emitter, lane: SSAValue, carried: Carried) -> Carried:
            x, inverses = carried
            x, inverse = _Vector(x, rows, lane, vector_type(f32, (width,))).softmax(emit, zero_masked)
            return [x, write(emit, inverse, inverses, [lane], (0,))]

        return body

    whole = columns // _VECTOR * _VECTOR
    held = emit.loop(0, whole, _VECTOR, [x, emit.empty(f32, [columns])], of_vector(_VECTOR))
    if whole != columns:
        held = of_vector(columns - whole)(emit, emit.constants.index(whole), held)
    return held[0], held[1]


@dataclass(frozen=True)
class _Vector:
    """Some columns of a matrix, from `lane` on."""

    x: SSAValue
    rows: Index
    lane: SSAValue
    type: Vector

    def softmax(self, emit: Emitter, zero_masked: bool) -> tuple[SSAValue, SSAValue]:
        """The matrix with exp(x - max) in the columns, and one over their sums."""
        zero, one, low = (self._number(emit, n) for n in (0, 1, -inf))
        top = self._maximum(emit, low)
        is_masked = _compare(emit, "oeq", top, low) if zero_masked else None
        if is_masked is not None:  # exp(-inf - 0) is 0
            top = emit.value(SelectOp(is_masked, zero, top))
        x, total = self._powers(emit, top, zero)
        if is_masked is not None:
            total = emit.value(SelectOp(is_masked, one, total))
        return x, emit.value(arith.DivfOp(one, total))

    def _number(self, emit: Emitter, number: float) -> SSAValue:
        return emit.constants.of(dense_attr(self.type, [number]), self.type)

    def _maximum(self, emit: Emitter, low: SSAValue) -> SSAValue:
        """The greatest element of each column, in one instruction each: a NaN is found by exp again."""

        def step(inside: Emitter, places: Sequence[SSAValue], tops: Carried) -> Carried:
            found = [read(inside, self.x, [row, self.lane], self.type, (1,)) for row in places]
            pairs = zip(tops, found, strict=True)
            return [_greater(inside, a, b) for a, b in pairs]

        (top,) = _along_rows(emit, self.rows, [], low, step, _greater)
        return top

    def _powers(self, emit: Emitter, top: SSAValue, zero: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The columns replaced by exp(x - top), and their sums."""

        def step(inside: Emitter, places: Sequence[SSAValue], carried: Carried) -> Carried:
            x, *sums = carried
            found = [read(inside, x, [row, self.lane], self.type, (1,)) for row in places]
            powers = [inside.value(math.ExpOp(inside.value(arith.SubfOp(value, top)))) for value in found]
            for row, power in zip(places, powers, strict=True):
                x = write(inside, power, x, [row, self.lane], (1,))
            return [x, *(_sum(inside, a, b) for a, b in zip(sums, powers, strict=True))]

        x, total = _along_rows(emit, self.rows, [self.x], zero, step, _sum)
        return x, total


def _greater(emit: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    return emit.value(SelectOp(_compare(emit, "ogt", b, a), b, a))


def _compare(emit: Emitter, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
    number = arith.CMPF_COMPARISON_OPERATIONS.index(predicate)
    properties = {"predicate": IntegerAttr(number, i64), "fastmath": arith.FastMathFlagsAttr("none")}
    return emit.value(CmpfOp.create(operands=[a, b], result_types=[like(a.type, i1)], properties=properties))


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
