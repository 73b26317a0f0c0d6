"""Operands that broadcast: placed as old opsets say, and made to agree where dimensions have two names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import emit, normalized_axis, rank_of
from stepwell.runtime.dims import Dim


def legacy_broadcast(op: onnx.OnnxOp, lhs: SSAValue, rhs: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """
    The right operand of a binary op below opset 7, placed so that numpy's rules broadcast it.

    There `axis` says at which dimension of the left operand the right one's first dimension stands; without
    it the right one is a suffix, as in numpy.
    """
    if onnx.opset_of(op) >= 7 or not op.has("axis"):
        return rhs
    rank, rank_rhs = rank_of(lhs, op), rank_of(rhs, op)
    trailing = rank - normalized_axis(op.integer("axis"), rank, op) - rank_rhs
    if trailing <= 0:
        return rhs
    return emit(graph.ExpandDimsOp(rhs, range(rank_rhs, rank_rhs + trailing)), rewriter)


def agreeing(op: onnx.OnnxOp, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> list[SSAValue]:
    """
    Operands whose aligned dimensions are equal, or 1, by name: what is not proved is checked by a call.

    A dimension that has another name than the first operand's could be 1 when the model runs. It is taken as
    equal, and a `graph.assert` stops a call where it is not; only a 1 that the model says broadcasts.
    """
    if not all(isinstance(operand.type, TensorType) for operand in operands):
        return list(operands)
    shapes = [dims_of(tensor_of(operand)) for operand in operands]
    targets = _targets(shapes)
    result: list[SSAValue] = []
    for operand, dims in zip(operands, shapes, strict=True):
        wanted = [
            target if _may_differ(dim, target) else dim
            for dim, target in zip(dims, targets[len(targets) - len(dims) :], strict=True)
        ]
        for dim, target in zip(dims, wanted, strict=True):
            if dim != target:
                what = f"dimensions {dim} and {target} must be equal, since neither is a fixed 1"
                assume_equal(op, dim, target, what, rewriter)
        changed = list(dims) != wanted
        result.append(emit(graph.ReshapeOp(operand, wanted), rewriter) if changed else operand)
    return result


def _targets(shapes: Sequence[Sequence[Dim]]) -> list[Dim]:
    """The dimension of each place, aligned at the right: a number that is not 1, else the first name."""
    targets = [Dim.of(1)] * max(map(len, shapes))
    for shape in shapes:
        for place, dim in enumerate(shape, start=len(targets) - len(shape)):
            if targets[place] == 1 or (dim.is_static and dim != 1 and not targets[place].is_static):
                targets[place] = dim
    return targets


def _may_differ(dim: Dim, target: Dim) -> bool:
    """Whether nothing is proved of two known dimensions, neither of which is 1."""
    known = not dim.is_unknown and not target.is_unknown
    return known and dim != 1 and target != 1 and dim != target and not differ(dim, target)
