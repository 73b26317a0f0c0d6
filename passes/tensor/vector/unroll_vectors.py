"""Cut vectors of any shape into vectors of one dimension that fit the registers of the target."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import vector
from xdsl.dialects.builtin import UnitAttr, VectorType
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.sched import UNROLLED
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.transfers import element_type
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.passes.tensor.vector import cut_elements, cut_transfers
from stepwell.passes.tensor.vector.cut_vectors import CutVectors
from stepwell.passes.tensor.vector.short_rows import vectors_of_short_rows
from stepwell.patterns.driver.one_to_many import SplitIf, SplitYield
from stepwell.runtime.machine.target import target_from


@dataclass(frozen=True)
class UnrollVectorsPass(SchedulingPass):
    """
    Replace vectors by as many of one dimension as they need, none longer than a register.

    Afterwards each vector is read from neighbours in memory or is one scalar in all lanes; slices have become
    indices of the tensors they were cut from, and loops carry one value for each accumulator register.
    Elements that are not contiguous along the lanes are gathered one by one: correct, but slow, so schedules
    avoid it. Marks the functions that it is done with, and all kernels, as `sched.unrolled`.
    """

    name = "unroll-vectors"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if any(isinstance(r.type, VectorType) for op in func.walk() for r in op.results):
            target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
            lanes = target.lanes(_widest(func))
            vectors = CutVectors(func, lanes, target.vector_registers, vectors_of_short_rows(func, lanes))
            vectors.convert(unroll_patterns(vectors))
            erase_dead(func)
        elif not is_kernel(func):
            return
        func.attributes[UNROLLED] = UnitAttr()


def _widest(func: FuncOp) -> int:
    """Bytes of the largest element that vectors of a function carry from or to memory."""
    sizes = [1]
    for op in func.walk():
        if isinstance(op, vector.TransferReadOp | vector.TransferWriteOp):
            sizes.append(element_bytes(element_type(op.source.type)))
    return max(sizes)


def unroll_patterns(vectors: CutVectors) -> list[RewritePattern]:
    """The patterns that cut vectors; the last two are for ops of all other classes."""
    return [
        cut_transfers.CutRead(vectors),
        cut_transfers.CutWrite(vectors),
        cut_transfers.WriteToSlice(vectors),
        cut_elements.CutFor(vectors),
        SplitIf(vectors),
        SplitYield(vectors),
        cut_elements.CutBroadcast(vectors),
        cut_elements.CutShapeCast(vectors),
        cut_elements.CutExtract(vectors),
        cut_elements.CutInsert(vectors),
        cut_elements.CutShuffle(vectors),
        cut_elements.CutReduction(vectors),
        cut_elements.CutConstant(vectors),
        cut_elements.CutElementwise(vectors),
        cut_elements.UseOnlyPiece(vectors),
    ]
