"""Values of affine expressions, as arithmetic on indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.runtime.errors import InternalError

_ALGEBRA: Mapping[AffineBinaryOpKind, Callable[[IRBuilder, Index, Index], Index]] = {
    AffineBinaryOpKind.Add: lambda emit, a, b: emit.plus(a, b),
    AffineBinaryOpKind.Mul: lambda emit, a, b: emit.times(a, b),
    AffineBinaryOpKind.FloorDiv: lambda emit, a, b: emit.floordiv(a, b),
    AffineBinaryOpKind.CeilDiv: lambda emit, a, b: emit.ceildiv(a, b),
    AffineBinaryOpKind.Mod: lambda emit, a, b: emit.modulo(a, b),
}
"""Methods of builders by the operators of affine maps; lambdas, since builders of levels override them."""


def combined(emit: IRBuilder, kind: AffineBinaryOpKind, a: Index, b: Index) -> Index:
    """The value of a binary affine expression from those of its operands."""
    return _ALGEBRA[kind](emit, a, b)


def affine_value(
    emit: IRBuilder, expr: AffineExpr, dims: Sequence[Index], symbols: Sequence[Index] = ()
) -> Index:
    """The value of an affine expression over dimensions and symbols, a number where it is constant."""
    match expr:
        case AffineConstantExpr(value=value):
            return value
        case AffineDimExpr(position=position):
            return dims[position]
        case AffineSymExpr(position=position):
            return symbols[position]
        case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs):
            left, right = (affine_value(emit, side, dims, symbols) for side in (lhs, rhs))
            return combined(emit, kind, left, right)
        case _:
            raise InternalError(None, f"affine expression {expr}")
