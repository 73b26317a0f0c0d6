"""Expressions as text with their precedence, so that parentheses are where they must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType
from xdsl.dialects.emitc import EmitC_ArrayType, EmitC_CallOpaqueOp, EmitC_PointerType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.lowering.emit_c.types import c_type, constant_text

MEMORY = "memory"
"""What loads through pointers read, as stores through pointers write it."""

PRIMARY, UNARY, PRODUCT, SUM, OTHER = 16, 14, 13, 12, 1


class Expr(NamedTuple):
    """An expression: its text, its precedence, and the variables that it reads."""

    text: str
    precedence: int = PRIMARY
    reads: frozenset[object] = frozenset()

    def inside(self, precedence: int) -> str:
        """The text as an operand of an operator, in parentheses where that one binds closer."""
        return self.text if self.precedence >= precedence else f"({self.text})"


_OPERATORS: dict[type[Operation], tuple[str, int]] = {
    expressions.AddOp: ("+", SUM),
    expressions.SubOp: ("-", SUM),
    expressions.MulOp: ("*", PRODUCT),
    expressions.DivOp: ("/", PRODUCT),
    expressions.RemOp: ("%", PRODUCT),
    expressions.BitwiseAndOp: ("&", OTHER),
    expressions.BitwiseOrOp: ("|", OTHER),
    expressions.BitwiseXorOp: ("^", OTHER),
    expressions.BitwiseLeftShiftOp: ("<<", OTHER),
    expressions.BitwiseRightShiftOp: (">>", OTHER),
}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

Operand = Callable[[SSAValue], Expr]


def expression(op: Operation, operand: Operand, is_written: Callable[[SSAValue], bool]) -> Expr | None:
    """
    The expression of an op; None for a statement.

    Args: `operand` gives that of an operand; `is_written` says whether a pointer's memory is written.
    """
    match op:
        case emitc.ConstantOp(value=IntegerAttr() | FloatAttr() as value):
            text = constant_text(value)
            return Expr(text, UNARY if text[0] in "-(" else PRIMARY)
        case emitc.LiteralOp(value=value):
            return Expr(value.data)
        case emitc.BinaryOp():
            return _binary(op, operand)
        case expressions.UnaryMinusOp(operand=value):
            return _prefixed("-", operand(value))
        case expressions.LogicalNotOp(operand=value):
            return _prefixed("!", operand(value))
        case emitc.CmpOp(lhs=lhs, rhs=rhs):
            left, right = operand(lhs), operand(rhs)
            sign = _COMPARISONS[op.predicate.value.data]
            text = f"{left.inside(SUM)} {sign} {right.inside(SUM)}"
            return Expr(text, OTHER, left.reads | right.reads)
        case emitc.ConditionalOp(condition=condition, true_value=yes, false_value=no):
            parts = [operand(value) for value in (condition, yes, no)]
            shown = [parts[0].inside(UNARY), *(part.inside(PRODUCT) for part in parts[1:])]
            reads = frozenset[object]().union(*(part.reads for part in parts))
            return Expr(f"{shown[0]} ? {shown[1]} : {shown[2]}", OTHER, reads)
        case emitc.CastOp(source=source, dest=dest):
            return _cast(operand(source), source.type, dest.type, is_written(dest))
        case emitc.SubscriptOp(value=value, indices=indices):
            base, *rest = [operand(each) for each in (value, *indices)]
            text = base.inside(PRIMARY) + "".join(f"[{each.text}]" for each in rest)
            return Expr(text, PRIMARY, base.reads.union(*(each.reads for each in rest)))
        case EmitC_CallOpaqueOp(callee=callee, call_args=arguments):
            parts = [operand(value) for value in arguments]
            reads = frozenset[object]().union(*(part.reads for part in parts))
            return Expr(f"{callee.data}({', '.join(part.text for part in parts)})", PRIMARY, reads)
        case _:
            return None


def _binary(op: emitc.BinaryOp, operand: Operand) -> Expr:
    sign, precedence = _OPERATORS[type(op)]
    left, right = operand(op.lhs), operand(op.rhs)
    if precedence == OTHER:
        text = f"{left.inside(UNARY)} {sign} {right.inside(UNARY)}"
    else:
        text = f"{left.inside(precedence)} {sign} {right.inside(precedence + 1)}"
    found = Expr(text, precedence, left.reads | right.reads)
    result = op.result.type
    if isinstance(result, IntegerType) and result.width.data < 32:  # computed as int
        return _cast(found, None, result, False)
    return found


def _prefixed(sign: str, value: Expr) -> Expr:
    text = value.inside(UNARY)
    # Two signs in a row would be another operator.
    return Expr(f"{sign}({text})" if text.startswith(sign) else f"{sign}{text}", UNARY, value.reads)


def _cast(value: Expr, source: Attribute | None, dest: Attribute, is_written: bool) -> Expr:
    """A cast; that of a pointer goes by way of `void *`, which has no alignment."""
    if source == dest:
        return value
    if isinstance(dest, EmitC_PointerType):
        if isinstance(source, EmitC_PointerType):
            qualifier = "" if is_written else "const "
            text = f"({c_type(dest, const=not is_written)})({qualifier}void *){value.inside(UNARY)}"
            return Expr(text, UNARY, value.reads)
        if isinstance(source, EmitC_ArrayType) and source.element_type != dest.pointee_type:
            return Expr(
                f"({c_type(dest, const=not is_written)})(void *){value.inside(UNARY)}", UNARY, value.reads
            )
        return value  # an array is the address of its first element
    return Expr(f"({c_type(dest)}){value.inside(UNARY)}", UNARY, value.reads)
