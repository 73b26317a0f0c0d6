"""`graph.check_indices` on buffers: a loop that finds the least and the greatest index, then two checks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from stepwell.dialects import graph, runtime_calls
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.runtime.dims import Dim

_LARGEST = (1 << 62) - 1


def check_indices(
    op: graph.CheckIndicesOp, flat: SSAValue, dims: tuple[Dim, ...], row: int, builder: IRBuilder
) -> None:
    """
    Build the loops and checks of one op.

    Args: `flat` is the buffer of the indices as one dimension, `dims` their original dimensions; `row` is the
    op's row in the table of run-time errors.
    """
    sizes = op.sizes.get()
    total = builder.extent(prod(dims, start=Dim.of(1)))
    for column, size in enumerate(sizes):
        # Without indices the loop results are the initial bounds, and both checks pass.
        low, high = _extremes(flat, column, total, len(sizes), builder)
        limit = builder.extent(size)
        least = builder.materialize(builder.minus(0, limit))
        for found, ok in ((low, arith.CmpiOp(low, least, "sge")), (high, arith.CmpiOp(high, limit, "slt"))):
            builder.insert(runtime_calls.CheckOp(builder.value(ok), row, found, limit))


def _extremes(
    flat: SSAValue, first: int, total: SSAValue, step: int, builder: IRBuilder
) -> Sequence[SSAValue]:
    """The least and the greatest of every `step`-th element, by one `scf.for`."""

    def body(inside: IRBuilder, at: SSAValue, bounds: Sequence[SSAValue]) -> list[SSAValue]:
        index = inside.value(arith.IndexCastOp(inside.value(memref.LoadOp.get(flat, [at])), INDEX))
        return [
            inside.materialize(inside.least(bounds[0], index)),
            inside.materialize(inside.most(bounds[1], index)),
        ]

    start = [builder.materialize(_LARGEST), builder.materialize(-_LARGEST)]
    return builder.loop(first, total, step, start, body)
