"""`graph.check_indices` on buffers: a loop that finds the least and the greatest index, then two checks."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import graph, runtime_calls
from stepwell.dialects.extents import ExtentBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.runtime.dims import Dim

_INDEX = IndexType()
_LARGEST = (1 << 62) - 1

Insert = Callable[[Operation], Operation]


def check_indices(
    op: graph.CheckIndicesOp,
    flat: SSAValue,
    dims: tuple[Dim, ...],
    row: int,
    extents: ExtentBuilder,
    insert: Insert,
) -> None:
    """
    Build the loops and checks of one op.

    Args: `flat` is the buffer of the indices as one dimension, `dims` their original dimensions; `row` is the
    op's row in the table of run-time errors.
    """
    sizes = op.sizes.get()
    total = extents.extent(prod(dims, start=Dim.of(1)))
    step = extents.extent(len(sizes))
    for column, size in enumerate(sizes):
        # Without indices the loop results are the initial bounds, and both checks pass.
        low, high = _extremes(flat, extents.extent(column), total, step, op.location, insert)
        limit = extents.extent(size)
        least = insert(arith.SubiOp(extents.extent(0), limit)).results[0]
        for found, ok in ((low, arith.CmpiOp(low, least, "sge")), (high, arith.CmpiOp(high, limit, "slt"))):
            insert(runtime_calls.CheckOp(insert(ok).results[0], row, found, limit))


def _extremes(
    flat: SSAValue, first: SSAValue, total: SSAValue, step: SSAValue, location: LocationAttr, insert: Insert
) -> tuple[SSAValue, SSAValue]:
    """The least and the greatest of every `step`-th element, by one `scf.for`."""
    block = Block(arg_types=[_INDEX, _INDEX, _INDEX])
    at, low, high = block.args
    loaded = memref.LoadOp.get(flat, [at])
    index = arith.IndexCastOp(loaded.res, _INDEX)
    lower, higher = arith.MinSIOp(low, index.result), arith.MaxSIOp(high, index.result)
    ops = [loaded, index, lower, higher, scf.YieldOp(lower.result, higher.result)]
    for op in ops:
        adopt_location(op, location)
    block.add_ops(ops)
    greatest = insert(arith.ConstantOp(IntegerAttr(_LARGEST, _INDEX))).results[0]
    smallest = insert(arith.ConstantOp(IntegerAttr(-_LARGEST, _INDEX))).results[0]
    loop = insert(scf.ForOp(first, total, step, [greatest, smallest], Region(block)))
    return loop.results[0], loop.results[1]
