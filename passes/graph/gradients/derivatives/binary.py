"""Derivatives of arithmetic on two tensors that broadcast, and of selection."""

from __future__ import annotations

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.AddOp)
def add(op: graph.AddOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """da = dy, db = dy."""
    return b.sum_pairs([(dy, op.lhs), (dy, op.rhs)])


@derivative(graph.SubtractOp)
def subtract(op: graph.SubtractOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """da = dy, db = -dy."""
    return [b.sum_to(dy, op.lhs), b.negate(b.sum_to(dy, op.rhs))]


@derivative(graph.MultiplyOp)
def multiply(op: graph.MultiplyOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """da = dy b, db = dy a."""
    return b.sum_pairs([(b.multiply(dy, op.rhs), op.lhs), (b.multiply(dy, op.lhs), op.rhs)])


@derivative(graph.DivideOp)
def divide(op: graph.DivideOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """da = dy / b, db = -(dy / b) y."""
    da = b.divide(dy, op.rhs)
    return b.sum_pairs([(da, op.lhs), (b.negate(b.multiply(da, op.result)), op.rhs)])


@derivative(graph.RemainderOp)
def remainder(op: graph.RemainderOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """da = dy, db = -dy q with the quotient q = (a - y) / b, which is a whole number."""
    quotient = b.insert(graph.RoundOp(b.divide(b.subtract(op.lhs, op.result), op.rhs)))
    return b.sum_pairs([(dy, op.lhs), (b.negate(b.multiply(dy, quotient)), op.rhs)])


@derivative(graph.PowerOp)
def power(op: graph.PowerOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    da = dy b a^(b - 1), 0 where b is 0; db = dy y log(a), 0 where a is 0 and b is not negative.

    The exponent may be of another type, such as an integer: it has no derivative then.
    """
    a, e = op.lhs, op.rhs
    nothing = b.scalar(0.0, a)
    exponent = b.cast(e, tensor_of(a).element_type)
    lower = b.insert(graph.PowerOp(a, b.plus(exponent, -1.0)))
    is_zero = b.insert(graph.EqualOp(exponent, b.scalar(0.0, exponent)))
    da = b.where(is_zero, nothing, b.multiply(dy, b.multiply(exponent, lower)))
    if exponent is not e:
        return [b.sum_to(da, a), None]
    is_flat = b.insert(
        graph.AndOp(b.insert(graph.EqualOp(a, nothing)), b.insert(graph.LessEqualOp(b.scalar(0.0, e), e)))
    )
    db = b.where(is_flat, nothing, b.multiply(dy, b.multiply(op.result, b.insert(graph.LogOp(a)))))
    return b.sum_pairs([(da, a), (db, e)])


@derivative(graph.MaximumOp, graph.MinimumOp)
def extremum(op: graph.MaximumOp | graph.MinimumOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy to the operand that was taken; half to each where they are equal."""
    greater, smaller = (op.lhs, op.rhs) if isinstance(op, graph.MaximumOp) else (op.rhs, op.lhs)
    half = b.scaled(dy, 0.5)
    is_equal = b.insert(graph.EqualOp(op.lhs, op.rhs))
    to_lhs = b.where(is_equal, half, b.only_where(b.less(smaller, greater), dy))
    return b.sum_pairs([(to_lhs, op.lhs), (b.subtract(dy, to_lhs), op.rhs)])


@derivative(graph.WhereOp)
def where(op: graph.WhereOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy to the operand that was taken."""
    to_true = b.only_where(op.condition, dy)
    to_false = b.where(op.condition, b.scalar(0.0, dy), dy)
    return [None, b.sum_to(to_true, op.on_true), b.sum_to(to_false, op.on_false)]
