"""Tensors with their last two dimensions exchanged."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of


def swapped(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A tensor with its last two dimensions exchanged; merges with a transpose that makes the tensor."""
    swap = [*range(len(dims_of(value.type)))]
    swap[-2:] = swap[:-3:-1]
    op = value.owner
    if isinstance(op, graph.TransposeOp):
        perm = list(op.perm.get_values())
        merged = [perm[i] for i in swap]
        if merged == sorted(merged):
            return op.input
        return rewriter.insert(graph.TransposeOp(op.input, merged)).result
    if isinstance(op, graph.ReshapeOp) and (source := _swap_input(op)) is not None:
        dims = dims_of(value.type)
        return rewriter.insert(graph.ReshapeOp(source, [dims[i] for i in swap])).result
    return rewriter.insert(graph.TransposeOp(value, swap)).result


def _swap_input(op: graph.ReshapeOp) -> SSAValue | None:
    """The input of a transpose of the last two dimensions below a reshape of batch dimensions, or None."""
    inner = op.input.owner
    if (
        not isinstance(inner, graph.TransposeOp)
        or dims_of(op.input.type)[-2:] != dims_of(op.result.type)[-2:]
    ):
        return None
    perm = list(inner.perm.get_values())
    rank = len(perm)
    return inner.input if perm == [*range(rank - 2), rank - 1, rank - 2] else None
