"""`affine` → arithmetic on indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import Index
from stepwell.lowering.loops_to_emitc.pattern import Code, LoopsToEmitCPattern
from stepwell.runtime.errors import InternalError


class ApplyLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = affine.apply affine_map<(d0) -> (d0 * 4 + 1)> (%i)
    // ->
    %p = emitc.mul %i, %four : (index, index) -> index
    %r = emitc.add %p, %one : (index, index) -> index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.ApplyOp | affine.MinOp, rewriter: PatternRewriter) -> None:
        """Evaluate the map; `affine.min` is the least of its results."""
        code, map, operands = Code.before(op), op.map.data, list(op.operands)
        dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
        values = [_value(code, result, dims, symbols) for result in map.results]
        result, *others = values
        for other in others:
            result = code.least(result, other)
        found = code.materialize(result)
        rewriter.replace(op, code.ops, [found])


def _value(code: Code, expr: AffineExpr, dims: Sequence[SSAValue], symbols: Sequence[SSAValue]) -> Index:
    """The value of an affine expression, a number where it is constant."""
    match expr:
        case AffineConstantExpr(value=value):
            return value
        case AffineDimExpr(position=position):
            return code.number_of(dims[position])
        case AffineSymExpr(position=position):
            return code.number_of(symbols[position])
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            left, right = (_value(code, side, dims, symbols) for side in (lhs, rhs))
            return _combined(code, kind, left, right)
        case _:
            raise InternalError(None, f"affine expression {expr}")


def _combined(code: Code, kind: AffineBinaryOpKind, left: Index, right: Index) -> Index:
    match kind:
        case AffineBinaryOpKind.Add:
            return code.plus(left, right)
        case AffineBinaryOpKind.Mul:
            return code.times(left, right)
        case AffineBinaryOpKind.FloorDiv:
            return code.floordiv(left, right)
        case AffineBinaryOpKind.CeilDiv:
            return code.ceildiv(left, right)
        case AffineBinaryOpKind.Mod:
            return code.minus(left, code.times(code.floordiv(left, right), right))
