"""Reductions, softmax, and running sums."""

from __future__ import annotations

from functools import partial
from math import inf

from xdsl.dialects.builtin import f32, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, add_conversion, converts
from stepwell.runtime.dims import Dim


def _reduce(kind: str, call: Call) -> Value:
    """A reduction over axes, all of them by default, in the result's element type."""
    x = call.tensor().cast(call.element)
    if not call.has("dim"):
        return x.reduce(kind, list(range(x.rank)))
    return x.reduce(kind, call.axes(), keep_dims=call.flag("keepdim"))


for _names, _kind in (
    ("sum.default sum.dim_IntList", "sum"),
    ("mean.default mean.dim", "mean"),
    ("prod.default prod.dim_int", "prod"),
):
    for _name in _names.split():
        add_conversion(_name, partial(_reduce, _kind))


def _extreme(kind: str, call: Call) -> Value:
    """The largest or smallest element over axes; truth values are compared as numbers."""
    x = call.tensor()
    if is_bool(x.element):
        return _reduce_bool("max" if kind == "max" else "min", call)
    return _reduce(kind, call)


for _names, _kind in (("amax.default max.default", "max"), ("amin.default min.default", "min")):
    for _name in _names.split():
        add_conversion(_name, partial(_extreme, _kind))


def _reduce_bool(kind: str, call: Call) -> Value:
    """Whether all elements (`min`) or any of them (`max`) are true, over axes."""
    x = call.tensor()
    flags = x if is_bool(x.element) else x.equals(0).negated()
    numbers = flags.cast(f32)
    axes = call.axes() if call.has("dim") else list(range(x.rank))
    result = numbers.reduce(kind, axes, keep_dims=call.flag("keepdim"))
    return (result > 0.0).cast(call.element)


for _names, _kind in (("any.default any.dim any.dims", "max"), ("all.default all.dim all.dims", "min")):
    for _name in _names.split():
        add_conversion(_name, partial(_reduce_bool, _kind))


@converts("max.dim", "min.dim")
def extreme_with_index(call: Call) -> list[Value]:
    """The largest or smallest element along an axis, and its position."""
    x, is_max = call.tensor(), ".max." in call.op.SIGNATURE.name
    if x.rank == 0:
        return [x, call.at.number(0, i64)]
    axis, keep = call.axis(), call.flag("keepdim")
    numbers = x.cast(f32) if is_bool(x.element) else x
    value = numbers.reduce("max" if is_max else "min", [axis], keep_dims=keep)
    op_type = graph.ArgmaxOp if is_max else graph.ArgminOp
    return [value.cast(x.element), call.at.op(op_type(numbers.ssa, axis, keep_dims=keep))]


@converts("aminmax.default", "_aminmax.default")
def aminmax(call: Call) -> list[Value]:
    """The smallest and the largest element."""
    x, keep = call.tensor(), call.flag("keepdim")
    axes = call.axes() if call.has("dim") and call.value("dim") is not None else list(range(x.rank))
    numbers = x.cast(f32) if is_bool(x.element) else x
    return [numbers.reduce(kind, axes, keep_dims=keep).cast(x.element) for kind in ("min", "max")]


@converts("argmax.default", "argmin.default")
def argmax(call: Call) -> Value:
    """The position of the largest or smallest element, along an axis or in the flattened value."""
    x = call.tensor()
    op_type = graph.ArgmaxOp if "argmax" in call.op.SIGNATURE.name else graph.ArgminOp
    if x.rank == 0:
        return call.at.full(0, call.dims, i64)
    if call.value("dim") is None:
        total = Dim.of(1)
        for dim in x.dims:
            total = total * dim
        return call.at.op(op_type(x.reshape([total]).ssa, 0)).reshape(call.dims)
    return call.at.op(op_type(x.ssa, call.axis(), keep_dims=call.flag("keepdim")))


def _variance(call: Call) -> tuple[Value, Value]:
    """The variance over axes and the mean, both with the axes as dimensions of size 1."""
    x = call.tensor()
    axes = call.axes() if call.has("dim") else list(range(x.rank))
    mean = x.reduce("mean", axes, keep_dims=True)
    apart = x - mean
    squares = (apart * apart).reduce("sum", axes, keep_dims=True)
    count = call.at.number(1, x.element)
    for axis in axes:
        count = count * call.at.extent(x.dims[axis], x.element)
    divisor = (count - _correction(call)).maximum(0.0)
    return squares / divisor, mean


def _correction(call: Call) -> float:
    """The number by which the divisor is smaller than the count: 1 unless it is given."""
    if call.has("unbiased"):
        return float(call.flag("unbiased"))
    return 1.0 if call.value("correction") is None else float(call.number("correction"))


@converts("var.default", "var.dim", "var.correction", "std.default", "std.dim", "std.correction")
def variance(call: Call) -> Value:
    """The variance over axes, or its root."""
    result, _ = _variance(call)
    return (result.apply(graph.SqrtOp) if ".std." in call.op.SIGNATURE.name else result).reshape(call.dims)


@converts("var_mean.default", "var_mean.dim", "var_mean.correction")
@converts("std_mean.default", "std_mean.dim", "std_mean.correction")
def variance_and_mean(call: Call) -> list[Value]:
    """The variance over axes, or its root, and the mean."""
    result, mean = _variance(call)
    result = result.apply(graph.SqrtOp) if ".std_mean." in call.op.SIGNATURE.name else result
    return [result.reshape(call.dims), mean.reshape(call.dims)]


@converts("logsumexp.default")
def logsumexp(call: Call) -> Value:
    """The logarithm of the sum of exponentials, computed from differences to the maximum."""
    x, axes = call.tensor().cast(call.element), call.axes()
    largest = x.reduce("max", axes, keep_dims=True)
    finite = call.at.where(call.at.op(graph.IsInfOp(largest.ssa)), 0.0, largest)
    total = (x - finite).apply(graph.ExpOp).reduce("sum", axes, keep_dims=True)
    return (total.apply(graph.LogOp) + finite).reshape(call.dims)


@converts("count_nonzero.default", "count_nonzero.dim_IntList")
def count_nonzero(call: Call) -> Value:
    """The number of elements other than 0."""
    x = call.tensor()
    counts = (x if is_bool(x.element) else x.equals(0).negated()).cast(i64)
    return counts.reduce("sum", call.axes() if call.has("dim") else list(range(x.rank)))


@converts(
    "softmax.int", "_softmax.default", "_safe_softmax.default", "log_softmax.int", "_log_softmax.default"
)
def softmax(call: Call) -> Value:
    """Exponentials along an axis divided by their sum, or the logarithms of these."""
    x = call.tensor()
    title = call.op.SIGNATURE.name
    half = x.cast(call.element) if is_float(call.element) else x
    if half.rank == 0:
        return half * 0 + (0.0 if "log" in title else 1.0)
    op_type = graph.LogSoftmaxOp if "log" in title else graph.SoftmaxOp
    result = call.at.op(op_type(half.ssa, call.axis()))
    if "safe" in title:
        is_masked = half.reduce("max", [call.axis()], keep_dims=True).equals(-inf)
        result = call.at.where(is_masked, 0.0, result)
    return result


@converts("cumsum.default", "cumprod.default")
def running(call: Call) -> Value:
    """Running sums or products along an axis."""
    x, kind = call.tensor().cast(call.element), "sum" if "cumsum" in call.op.SIGNATURE.name else "prod"
    return x if x.rank == 0 else call.at.op(graph.ScanOp(x.ssa, kind, call.axis()))


@converts("nansum.default")
def nansum(call: Call) -> Value:
    """The sum of the elements that are numbers."""
    x = call.tensor().cast(call.element)
    kept = call.at.where(x.apply(graph.IsNanOp), 0.0, x) if is_float(x.element) else x
    return kept.reduce("sum", call.axes(), keep_dims=call.flag("keepdim"))


@converts("norm.Scalar", "norm.ScalarOpt_dim")
def norm(call: Call) -> Value:
    """The p-norm over axes, 2 by default."""
    x, order = call.tensor(), call.value("p")
    axes = call.axes() if call.has("dim") else list(range(x.rank))
    if order not in (None, 2, 2.0):
        raise call.unsupported(f"a norm of order {order}")
    return (x * x).reduce("sum", axes, keep_dims=call.flag("keepdim")).apply(graph.SqrtOp)
