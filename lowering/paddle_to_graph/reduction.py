"""Reductions along axes, positions of extremes, running sums, orders."""

from __future__ import annotations

from functools import partial

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, size_of


def _reduce(kind: str, call: Call) -> Value:
    x = call.tensor()
    axes = list(range(x.rank)) if call.flag("reduce_all") else call.operand_axes(x)
    return x.cast(call.element).reduce(kind, axes, keep_dims=call.flag("keepdim"))


for _name in ("sum", "mean", "max", "min", "prod"):
    CONVERSIONS.add(_name, partial(_reduce, _name))


@converts("logsumexp")
def logsumexp(call: Call) -> Value:
    """The logarithm of the sum of exponentials, relative to the greatest element."""
    x = call.tensor()
    every = list(range(x.rank))
    axes = every if call.flag("reduce_all") else call.checked_axes(call.integers("axis"), x.rank) or every
    most = x.reduce("max", axes, keep_dims=True)
    total = (x - most).apply(graph.ExpOp).reduce("sum", axes, keep_dims=True).apply(graph.LogOp) + most
    kept = [dim for axis, dim in enumerate(x.dims) if axis not in axes]
    return total if call.flag("keepdim") else total.reshape(kept)


@converts("p_norm")
def p_norm(call: Call) -> Value:
    """The norm of an axis, or of all elements: the sum of magnitudes, or the root of that of squares."""
    x, order = call.tensor(), call.number("porder")
    if order not in (1.0, 2.0):
        raise call.unsupported(f"the norm of order {order}")
    axes = list(range(x.rank)) if call.flag("asvector") else [call.axis()]
    total = (abs(x) if order == 1 else x * x).reduce("sum", axes, keep_dims=call.flag("keepdim"))
    return total if order == 1 else total.apply(graph.SqrtOp)


@converts("argmax", "argmin")
def arg_extreme(call: Call) -> Value:
    """The position of the greatest or least element along an axis, or among all."""
    x = call.tensor()
    op_type = graph.ArgmaxOp if call.op.SIGNATURE.name == "argmax" else graph.ArgminOp
    if not call.flag("flatten"):
        op = op_type(x.ssa, call.operand_axis(), keep_dims=call.flag("keepdims"))
        return call.at.op(op).cast(call.element)
    position = call.at.op(op_type(x.reshape([size_of(x.dims)]).ssa, 0)).cast(call.element)
    return position.reshape([1] * x.rank) if call.flag("keepdims") else position


@converts("topk")
def topk(call: Call) -> list[Value | None]:
    """The greatest or least elements along an axis, and their positions."""
    (count,) = call.constants("k")
    op = graph.TopKOp(call.tensor().ssa, count, call.axis(), call.flag("largest"))
    values, indices = call.insert(op)
    return [values, indices.cast(call.result_element(1))]


@converts("argsort")
def argsort(call: Call) -> list[Value | None]:
    """The elements along an axis in their order, and their positions before."""
    x, axis = call.tensor(), call.axis()
    values, indices = call.insert(graph.TopKOp(x.ssa, x.dims[axis], axis, call.flag("descending")))
    return [values, indices.cast(call.result_element(1))]


@converts("cumsum")
def cumsum(call: Call) -> Value:
    """Running sums along an axis."""
    if call.flag("flatten"):
        raise call.unsupported("running sums over all elements")
    exclusive, reverse = call.flag("exclusive"), call.flag("reverse")
    op = graph.ScanOp(call.tensor().ssa, "sum", call.operand_axis(), exclusive=exclusive, reverse=reverse)
    return call.at.op(op)
