"""Softmax of the columns of a matrix, a column in each lane of vectors: no step goes across lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.passes.tensor.emit import Emitter, Index, dense_attr
from stepwell.passes.tensor.transfers import read, vector_type, write

LANES = 16
"""Columns in a vector; narrower registers take several."""
# Independent maxima and sums: each waits some cycles for the one before.
_CHAINS = 4

_TYPE = vector_type(f32, (LANES,))

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
      %top = scf.for %row … { reads, arith.maximumf }
      %sum = scf.for %row … { reads, math.exp, writes, arith.addf }
    }
    ```
    Args: `x` is [rows, columns] of f32, the columns a multiple of `LANES`; with `zero_masked` a column of
    -inf gives zeros instead of NaN.
    """
    zero, one, low = (emit.constants.of(dense_attr(_TYPE, [n]), _TYPE) for n in (0, 1, -inf))

    def one_vector(emit: Emitter, lane: SSAValue, carried: Carried) -> Carried:
        x, inverses = carried
        top = _maximum(emit, x, rows, lane, low)
        is_masked = emit.value(arith.CmpfOp(top, low, "oeq")) if zero_masked else None
        if is_masked is not None:  # exp(-inf - 0) is 0
            top = emit.value(arith.SelectOp(is_masked, zero, top))
        x, total = _powers(emit, x, rows, lane, top)
        if is_masked is not None:
            total = emit.value(arith.SelectOp(is_masked, one, total))
        inverse = emit.value(arith.DivfOp(one, total))
        return [x, write(emit, inverse, inverses, [lane], (0,))]

    inverses = emit.empty(f32, [columns])
    powers, inverses = emit.loop(0, columns, LANES, [x, inverses], one_vector)
    return powers, inverses


def _maximum(emit: Emitter, x: SSAValue, rows: Index, lane: SSAValue, low: SSAValue) -> SSAValue:
    """The greatest element of each column of a vector; NaN wins."""

    def step(emit: Emitter, places: Sequence[SSAValue], tops: Carried) -> Carried:
        found = [read(emit, x, [row, lane], _TYPE, (1,)) for row in places]
        return [emit.value(arith.MaximumfOp(a, b)) for a, b in zip(tops, found, strict=True)]

    (top,) = _along_rows(emit, rows, [], low, step, arith.MaximumfOp)
    return top


def _powers(
    emit: Emitter, x: SSAValue, rows: Index, lane: SSAValue, top: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """The columns of a vector replaced by exp(x - top), and their sums."""
    zero = emit.constants.of(dense_attr(_TYPE, [0]), _TYPE)

    def step(emit: Emitter, places: Sequence[SSAValue], carried: Carried) -> Carried:
        x, *sums = carried
        found = [read(emit, x, [row, lane], _TYPE, (1,)) for row in places]
        powers = [emit.value(math.ExpOp(emit.value(arith.SubfOp(value, top)))) for value in found]
        for row, power in zip(places, powers, strict=True):
            x = write(emit, power, x, [row, lane], (1,))
        return [x, *(emit.value(arith.AddfOp(a, b)) for a, b in zip(sums, powers, strict=True))]

    x, total = _along_rows(emit, rows, [x], zero, step, arith.AddfOp)
    return x, total


def _along_rows(
    emit: Emitter,
    rows: Index,
    carried: Carried,
    start: SSAValue,
    step: _Step,
    combine: Callable[[SSAValue, SSAValue], arith.MaximumfOp | arith.AddfOp],
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
        total = emit.value(combine(total, chain))
    return [*carried, total]
