"""
Operands that broadcast: aligned as in old opsets, stretched, and checked where sizes are open.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import differ
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers, broadcast_at_run_time
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal, is_symbol, renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, emit, normalized_axis, rank_of
from stepwell.runtime.dims import Dim, atom_operands


def legacy_broadcast(op: onnx.OnnxOp, lhs: SSAValue, rhs: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """
    The right operand of a binary op below opset 7, reshaped so that numpy's broadcasting applies.

    There `axis` is the dimension of the left operand with which the right operand's first dimension is
    aligned; without it the right operand is a suffix, as in numpy.
    """
    if onnx.opset_of(op) >= 7 or not op.has("axis"):
        return rhs
    rank, rank_rhs = rank_of(lhs, op), rank_of(rhs, op)
    trailing = rank - normalized_axis(op.integer("axis"), rank, op) - rank_rhs
    if trailing <= 0:
        return rhs
    return emit(graph.ExpandDimsOp(rhs, range(rank_rhs, rank_rhs + trailing)), rewriter)


def agreeing(
    op: onnx.OnnxOp, operands: Sequence[SSAValue], lowering: OnnxLowering, rewriter: PatternRewriter
) -> list[SSAValue]:
    """
    Operands whose aligned dimensions are equal or a fixed 1; run-time checks cover what is not proved.

    A dimension that is a single symbol can be 1 at run time if its counterpart is a number, an expression or
    another symbol; then the operand is broadcast along it. The same is true of a quotient from the -1 of a
    Reshape if its counterpart has other symbols; of two quotients like this, the result has the larger one.
    All other expressions are computed from these sizes, as after a convolution, and assumed to be equal.
    """
    return _agreeing(op, operands, 0, lowering, rewriter)


def agreeing_batches(
    op: onnx.OnnxOp, operands: Sequence[SSAValue], lowering: OnnxLowering, rewriter: PatternRewriter
) -> list[SSAValue]:
    """The operands of a product with agreeing batch dimensions; rows and columns are left as they are."""
    return _agreeing(op, operands, 2, lowering, rewriter)


def _agreeing(
    op: onnx.OnnxOp,
    operands: Sequence[SSAValue],
    apart: int,
    lowering: OnnxLowering,
    rewriter: PatternRewriter,
) -> list[SSAValue]:
    """Operands that agree in all but the last `apart` dimensions."""
    if not all(isinstance(operand.type, TensorType) for operand in operands):
        return list(operands)
    shapes = [dims_of(tensor_of(operand)) for operand in operands]
    leading = [shape[: max(len(shape) - apart, 0)] for shape in shapes]
    rank = max(map(len, leading))
    aligned = [
        _open([shape[axis - rank] for shape in leading if len(shape) >= rank - axis]) for axis in range(rank)
    ]
    targets = [_joined(dims) for dims in aligned]
    joined = {dim for dims in aligned if len(dims) > 1 for dim in dims}
    result: list[SSAValue] = []
    for operand, shape, taking_part in zip(operands, shapes, leading, strict=True):
        wanted = [*targets[rank - len(taking_part) :], *shape[len(taking_part) :]]
        result.append(_fitted(op, operand, wanted, lowering, rewriter, joined))
    return result


def fitted(
    op: onnx.OnnxOp, operand: SSAValue, dims: Sequence[Dim], lowering: OnnxLowering, rewriter: PatternRewriter
) -> SSAValue:
    """An operand that broadcasts to a shape: each dimension equals the shape's or is 1."""
    return _fitted(op, operand, dims[len(dims) - len(dims_of(operand.type)) :], lowering, rewriter)


def conforming(op: onnx.OnnxOp, values: Sequence[SSAValue], rewriter: PatternRewriter) -> list[SSAValue]:
    """
    A tensor and others aligned with its last dimensions, all with one size per dimension or a fixed 1.

    The size is a number if one is known. Nothing is stretched: run-time checks require equal sizes.
    """
    dims = list(dims_of(values[0].type))
    for other in values[1:]:
        for i, dim in enumerate(reversed(dims_of(other.type)), start=1):
            if dim.is_static and _may_differ(dims[-i], dim):
                dims[-i] = dim
    result: list[SSAValue] = []
    for value in values:
        own = dims_of(value.type)
        wanted = [Dim.of(1) if d == 1 else dims[i - len(own)] for i, d in enumerate(own)]
        result.append(renamed(op, value, wanted, "sizes of one dimension", rewriter))
    return result


def _open(dims: Sequence[Dim]) -> list[Dim]:
    """
    The dimensions, among aligned ones, that together decide the broadcast size; any of them may be 1.

    A number other than 1 decides alone; else an expression does, together with quotients of other symbols if
    it is a quotient; without numbers and expressions all symbols do.
    """
    ranked = sorted(dict.fromkeys(dim for dim in dims if dim != 1), key=_likely_1)
    if not ranked or is_symbol(ranked[0]):
        return ranked
    result = ranked[:1]
    for dim in ranked[1:] if _is_quotient(ranked[0]) else ():
        if _is_quotient(dim) and not any(dim.symbols() & other.symbols() for other in result):
            result.append(dim)
    return result


def _joined(dims: Sequence[Dim]) -> Dim:
    """
    The size that dimensions broadcast to; those other than 1 are equal, which a run-time check requires.
    """
    result, *others = dims or [Dim.of(1)]
    for dim in others:
        if not result.is_unknown and not dim.is_unknown:
            # Of n and 1, or n and n, it is n, be that 0 or not.
            result = result * dim // result.minimum(dim).maximum(Dim.of(1))
    return result


def _is_quotient(dim: Dim) -> bool:
    """Whether a dimension is one floor division of a product, as the inferred extent of a reshape is."""
    match dim.terms():
        case (((atom,), 1),):
            parts = atom_operands(atom)
            return parts is not None and parts[0] == "floordiv" and len(parts[1].terms()) == 1
        case _:
            return False


def _likely_1(dim: Dim) -> tuple[int, int]:
    """A rank of how likely a dimension is 1 and stretched: number, expression, quotient, symbol."""
    if dim.is_static:
        return 0, 0
    return (3 if is_symbol(dim) else 2 if _is_quotient(dim) else 1), len(dim.symbols())


def _may_be_1(dim: Dim, target: Dim) -> bool:
    """Whether an open size may be 1 at run time although its counterpart is not."""
    return is_symbol(dim) or (_is_quotient(dim) and not dim.symbols() & target.symbols())


def _fitted(
    op: onnx.OnnxOp,
    operand: SSAValue,
    targets: Sequence[Dim],
    lowering: OnnxLowering,
    rewriter: PatternRewriter,
    joined: AbstractSet[Dim] = frozenset(),
) -> SSAValue:
    """
    An operand whose dimensions are the targets or a fixed 1, with run-time checks; `joined` ones may be 1.
    """
    dims = dims_of(operand.type)
    wanted = [target if _may_differ(dim, target) else dim for dim, target in zip(dims, targets, strict=True)]
    if list(dims) == wanted:
        return operand
    assumed: list[Dim] = []
    for dim, target in zip(dims, wanted, strict=True):
        stretched = dim in joined or _may_be_1(dim, target)
        if dim != target and stretched:
            not_1 = (dim - 1).maximum(1 - dim).minimum(Dim.of(1))
            what = f"dimension {dim} must be 1 or the size that it broadcasts to"
            assume_equal(op, dim, dim + (target - dim) * not_1, what, rewriter)
        elif dim != target:
            what = f"dimensions {dim} and {target} must be equal, since neither is a fixed 1"
            assume_equal(op, dim, target, what, rewriter)
        assumed.append(dim if stretched else target)
    if assumed != list(dims):
        operand = emit(graph.ReshapeOp(operand, assumed), rewriter)
    return broadcast_at_run_time(operand, wanted, Numbers(lowering, rewriter))


def _may_differ(dim: Dim, target: Dim) -> bool:
    """Whether two known dimensions, neither of them 1, are proved neither equal nor different."""
    known = not dim.is_unknown and not target.is_unknown
    return known and dim != 1 and target != 1 and dim != target and not differ(dim, target)
