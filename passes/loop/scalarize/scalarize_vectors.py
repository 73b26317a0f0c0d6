"""`scalarize-vectors`: a scalar for each lane of a vector, for targets that have no vectors."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.passes.base import FunctionPass
from stepwell.passes.loop.scalarize import lane_patterns, memory_patterns
from stepwell.passes.loop.scalarize.scalar_lanes import ScalarLanes
from stepwell.patterns.driver.one_to_many import SplitFor, SplitYield


@dataclass(frozen=True)
class ScalarizeVectorsPass(FunctionPass):
    """
    Replace vectors of one dimension by scalars, one a lane (rounding: reductions combine lanes in order).

    Needs loops on buffers and vectors of one dimension (`unroll-vectors`); afterwards there is no vector.
    Lanes that may be outside of a buffer, or that a mask leaves out, are read and written in a branch.
    """

    name = "scalarize-vectors"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not any(isinstance(r.type, VectorType) for op in func.walk() for r in op.results):
            return
        lanes = ScalarLanes(func)
        lanes.convert(_patterns(lanes))
        erase_dead(func)


def _patterns(lanes: ScalarLanes) -> list[RewritePattern]:
    """The patterns; the last two are for ops of all other classes."""
    return [
        SplitFor(lanes),
        SplitYield(lanes),
        lane_patterns.ScalarIf(lanes),
        lane_patterns.ScalarBroadcast(lanes),
        lane_patterns.ScalarConstants(lanes),
        lane_patterns.ScalarExtract(lanes),
        lane_patterns.ScalarInsert(lanes),
        lane_patterns.ScalarShuffle(lanes),
        lane_patterns.ScalarCast(lanes),
        lane_patterns.ScalarReduction(lanes),
        lane_patterns.ScalarMask(lanes),
        memory_patterns.ScalarRead(lanes),
        memory_patterns.ScalarWrite(lanes),
        memory_patterns.ScalarLoad(lanes),
        memory_patterns.ScalarStore(lanes),
        lane_patterns.ScalarElementwise(lanes),
        lane_patterns.EnterRegions(lanes),
    ]
