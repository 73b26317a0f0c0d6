"""The indices of gathers and scatters, which a run-time check must find in bounds."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import IN_BOUNDS

_INDEXING = (
    graph.GatherOp,
    graph.GatherElementsOp,
    graph.GatherNdOp,
    graph.ScatterElementsOp,
    graph.ScatterNdOp,
)


def checked_indices(op: Operation) -> SSAValue | None:
    """The indices of a gather or scatter; None for other ops, and where they are known to be in bounds."""
    if not isinstance(op, _INDEXING) or IN_BOUNDS in op.attributes:
        return None
    return None if isinstance(op, graph.GatherOp) and op.bounds.data == "clip" else op.indices
