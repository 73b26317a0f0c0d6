"""The pass `prefetch-rows`: fetch the next row of an operand while functions of this one are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import math, scf, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.ir.affine import AffineDimExpr

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.costs.schedules import BUFFERS
from stepwell.dialects.sched import PREFETCH
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.types import element_bytes
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.passes.loop.stream_stores import viewed_buffer
from stepwell.runtime.machine.target import target_from

_FUNCTIONS = (math.ExpOp, math.LogOp, math.TanhOp, math.ErfOp, math.SinOp, math.CosOp)


@dataclass(frozen=True)
class PrefetchRowsPass(FunctionPass):
    """
    Ask for the next row of an operand in the loop over this row that computes most.

    A kernel such as softmax goes along a row several times. The first time it waits for memory, later for
    arithmetic: the time of the first loop is nearly gone when the row is fetched during the loop that
    evaluates functions over the row before (softmax 512x1024: 0.95 of the time, 64x32000: 0.92).

    ```mlir
    scf.for %j = … { // the greatest element
      %a = vector.transfer_read %x[%i, %j], %zero : memref<512x1024xf32>, vector<16xf32>
      …
    }
    scf.for %j = … {
      %a = vector.transfer_read %x[%i, %j], %zero : memref<512x1024xf32>, vector<16xf32>
      … math.exp …
    }
    // ->
    scf.for %j = … {
      %a = vector.transfer_read %x[%i, %j], %zero {sched.prefetch = 1024 : i64} : …
    ```
    For rows of known sizes in a parallel loop that an earlier loop reads as well. After the last row there
    is nothing to read, which does no harm. Also for all reads of vectors of an input that a schedule fetches
    ahead (`sched.prefetch` on it), whatever the loop. Runs before `expand-math`, while functions have names.
    """

    name = "prefetch-rows"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        _mark_prefetched(func)
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        for op in func.walk():
            if isinstance(op, scf.ParallelOp):
                _mark(op, target.l2_bytes // BUFFERS.prefetch_share)


def _mark_prefetched(func: FuncOp) -> None:
    """Mark the reads of inputs that a schedule fetches ahead."""
    given = func.arg_attrs.data if func.arg_attrs is not None else ()
    asked = {
        arg: each.data[PREFETCH]
        for arg, each in zip(func.body.block.args, given, strict=False)
        if PREFETCH in each.data
    }
    left: set[SSAValue] = {*asked}
    for op in func.walk() if asked else ():
        if isinstance(op, vector.TransferReadOp) and (buffer := viewed_buffer(op.source)) in asked:
            if any(isinstance(index, AffineDimExpr) for index in op.permutation_map.data.results):
                op.attributes[PREFETCH] = asked[cast("BlockArgument", buffer)]
                left.discard(buffer)
    if left:
        names = ", ".join(str(arg.name_hint) for arg in left)
        remark(func, f"not prefetched: no vectors of {names} are read")


def _mark(rows: scf.ParallelOp, most_bytes: int) -> None:
    """Mark reads for prefetching: those of the first loop over a row that evaluates functions of the row."""
    block = rows.body.block
    seen: set[SSAValue] = set()
    for loop in block.ops:
        if not isinstance(loop, scf.ForOp):
            continue
        reads = _reads_of_row(loop, block.args[-1])
        if any(isinstance(op, _FUNCTIONS) for op in loop.body.block.ops):
            for read in (read for read in reads if read.source in seen):
                memory = cast("MemRefType[Attribute]", read.source.type)
                length = memory.get_shape()[-1]
                if BUFFERS.prefetched_bytes <= length * element_bytes(memory.element_type) <= most_bytes:
                    read.attributes[PREFETCH] = IntegerAttr(length, i64)
            return
        seen.update(read.source for read in reads)


def _reads_of_row(loop: scf.ForOp, row: BlockArgument) -> Sequence[vector.TransferReadOp]:
    """The `vector.transfer_read` ops of a loop that read kernel arguments at the given row index."""
    return [
        op
        for op in loop.body.block.ops
        if isinstance(op, vector.TransferReadOp)
        and isinstance(viewed_buffer(op.source), BlockArgument)
        and len(op.indices) > 1
        and op.indices[-2] is row
    ]
