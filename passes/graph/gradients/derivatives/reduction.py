"""Derivatives of reductions, and of softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.runtime.errors import StepwellError


@derivative(graph.ReduceOp)
def reduce(op: graph.ReduceOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dy repeated along the reduced axes, times the derivative of the kind's formula.

    The extremum gives dy to the elements that have it, in equal shares; l2 gives 0 at 0.
    """
    x, axes = op.input, list(op.axes.get_values())
    inner = [] if op.keep_dims else axes
    slope, y = b.expand(dy, inner), b.expand(op.result, inner)
    match op.kind.data:
        case "sum":
            return [b.broadcast(slope, x)]
        case "mean":
            count = b.count([b.dims(x)[axis] for axis in axes], x)
            return [b.broadcast(b.divide(slope, count), x)]
        case "sum_square":
            return [b.multiply(b.scaled(x, 2.0), slope)]
        case "l1":
            return [b.multiply(b.insert(graph.SignOp(x)), slope)]
        case "l2":
            is_zero = b.insert(graph.EqualOp(y, b.scalar(0.0, y)))
            return [b.multiply(x, b.where(is_zero, b.scalar(0.0, y), b.divide(slope, y)))]
        case "log_sum_exp":
            return [b.multiply(b.exp(b.subtract(x, y)), slope)]
        case "max" | "min":
            is_taken = b.insert(graph.EqualOp(x, y))
            shares = b.only_where(is_taken, b.full(1.0, x))
            count = b.sum(shares, axes, keep_dims=True)
            return [b.multiply(shares, b.divide(slope, count))]
        case "prod":
            return [_of_product(op, slope, b)]
        case kind:
            message = f"graph.reduce of kind {kind} has no derivative yet"
            raise StepwellError("no-derivative", op, message)


def _of_product(op: graph.ReduceOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    """
    dy times the product of all other elements, exact where some are 0.

    Along one axis this is the product of all elements before times that of all after; axes follow each other.
    """
    values = [op.input]
    axes = list(op.axes.get_values())
    for axis in axes[:-1]:
        values.append(b.insert(graph.ReduceOp(values[-1], "prod", [axis], keep_dims=True)))
    for axis, value in zip(reversed(axes), reversed(values), strict=True):
        before = b.insert(graph.ScanOp(value, "prod", axis, exclusive=True))
        after = b.insert(graph.ScanOp(value, "prod", axis, exclusive=True, reverse=True))
        dy = b.multiply(dy, b.multiply(before, after))
    return dy


@derivative(graph.LpNormOp)
def lp_norm(op: graph.LpNormOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = (dy - s sum(dy y)) / norm, where s is y, for the sum of absolute values sign(x); 0 at norm 0."""
    axis, p = op.axis.value.data, op.p.value.data
    norm = b.reduce(op.input, f"l{p}", [axis])
    is_zero = b.equal(norm, b.scalar(0.0, norm))
    size = b.where(is_zero, b.scalar(1.0, norm), norm)
    mean = b.sum(b.multiply(dy, op.result), [axis], keep_dims=True)
    slope = op.result if p == 2 else b.insert(graph.SignOp(op.input))  # the Euclidean norm
    dx = b.divide(b.subtract(dy, b.multiply(slope, mean)), size)
    return [b.where(is_zero, b.scalar(0.0, dx), dx)]


@derivative(graph.SoftmaxOp)
def softmax(op: graph.SoftmaxOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = y (dy - sum(dy y))."""
    mean = b.sum(b.multiply(dy, op.result), [op.axis.value.data], keep_dims=True)
    return [b.multiply(op.result, b.subtract(dy, mean))]


@derivative(graph.LogSoftmaxOp)
def log_softmax(op: graph.LogSoftmaxOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy - exp(y) sum(dy)."""
    total = b.sum(dy, [op.axis.value.data], keep_dims=True)
    return [b.subtract(dy, b.multiply(b.exp(op.result), total))]
