"""Reductions along axes, positions of extremes, running sums, orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value

_KINDS: Mapping[str, tuple[Callable[[Value], Value], str, Callable[[Value], Value]]] = {
    "reduce_l1_norm": (abs, "sum", lambda x: x),
    "reduce_l2_norm": (lambda x: x * x, "sum", lambda x: x.apply(graph.SqrtOp)),
    "reduce_log_sum": (lambda x: x, "sum", lambda x: x.apply(graph.LogOp)),
    "reduce_max": (lambda x: x, "max", lambda x: x),
    "reduce_mean": (lambda x: x, "mean", lambda x: x),
    "reduce_min": (lambda x: x, "min", lambda x: x),
    "reduce_prod": (lambda x: x, "prod", lambda x: x),
    "reduce_sum": (lambda x: x, "sum", lambda x: x),
    "reduce_sum_square": (lambda x: x * x, "sum", lambda x: x),
}
"""By op: the function of elements, the kind of the reduction, the function of its results."""


def _reduce(name: str, call: Call) -> Value:
    before, kind, after = _KINDS[name]
    return after(before(call.tensor()).reduce(kind, call.axes(), keep_dims=call.flag("keep_dims")))


for _name in _KINDS:
    CONVERSIONS.add(_name, partial(_reduce, _name))


@converts("reduce_log_sum_exp")
def log_sum_exp(call: Call) -> Value:
    """The logarithm of the sum of exponentials, relative to the greatest element."""
    x, axes = call.tensor(), call.axes()
    most = x.reduce("max", axes, keep_dims=True)
    total = (x - most).apply(graph.ExpOp).reduce("sum", axes, keep_dims=True).apply(graph.LogOp) + most
    if call.flag("keep_dims"):
        return total
    return total.reshape([dim for axis, dim in enumerate(x.dims) if axis not in axes])


@converts("reduce_argmax", "reduce_argmin")
def arg_extreme(call: Call) -> Value:
    """The position of the greatest or least element along an axis."""
    op_type = graph.ArgmaxOp if call.op.SIGNATURE.name == "reduce_argmax" else graph.ArgminOp
    op = op_type(call.tensor().ssa, call.axis(), keep_dims=call.flag("keep_dims"))
    return call.at.op(op).cast(call.element)


@converts("topk")
def topk(call: Call) -> list[Value | None]:
    """The greatest or least elements along an axis, and their positions."""
    op = graph.TopKOp(call.tensor().ssa, call.integer("k"), call.axis(), not call.flag("ascending"))
    values, indices = call.insert(op)
    results: list[Value | None] = [values]
    if len(call.op.results) > 1:
        results.append(indices.cast(call.result_element(1)))
    return results


@converts("argsort")
def argsort(call: Call) -> Value:
    """The positions of the elements along an axis in their order."""
    x, axis = call.tensor(), call.axis()
    indices = call.insert(graph.TopKOp(x.ssa, x.dims[axis], axis, not call.flag("ascending")))[1]
    return indices.cast(call.element)


@converts("cumsum")
def cumsum(call: Call) -> Value:
    """Running sums along an axis."""
    exclusive, reverse = call.flag("exclusive"), call.flag("reverse")
    op = graph.ScanOp(call.tensor().ssa, "sum", call.axis(), exclusive=exclusive, reverse=reverse)
    return call.at.op(op)
