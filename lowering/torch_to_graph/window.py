"""Pooling."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f64, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.promotion import computed
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


def _batched(x: Value, rank: int) -> Value:
    """Feature maps with a batch, which may be a new one."""
    return x.unsqueeze(0) if x.rank == rank + 1 else x


def _max_pool(call: Call, rank: int, *, indices: bool) -> list[Value]:
    """The maximum of each window, and its position in the feature map."""
    x = call.tensor()
    kernel = call.integers("kernel_size", rank)
    op = graph.PoolOp(
        _batched(x, rank).ssa,
        "max",
        kernel,
        strides=call.integers("stride", rank) or kernel,
        dilations=call.integers("dilation", rank),
        pads=[*call.integers("padding", rank)] * 2,
        ceil=call.flag("ceil_mode"),
        indices="row" if indices else "none",
    )
    results = call.insert(op)
    if indices:
        results[1] = _in_a_feature_map(results[1], _batched(x, rank))
    return [each.reshape(each.dims[1:]) for each in results] if x.rank == rank + 1 else results


def _in_a_feature_map(flat: Value, x: Value) -> Value:
    """Positions in a whole tensor as positions in their own feature map."""
    size = flat.formula.number(1, i64)
    for dim in x.dims[2:]:
        size = size * flat.formula.extent(dim, i64)
    return flat % size


@converts("max_pool1d.default", "max_pool2d.default", "max_pool3d.default")
def max_pool(call: Call) -> Value:
    """The maximum of each window."""
    return _max_pool(call, _rank(call), indices=False)[0]


@converts("max_pool1d_with_indices.default", "max_pool2d_with_indices.default")
@converts("max_pool3d_with_indices.default")
def max_pool_with_indices(call: Call) -> list[Value | None]:
    """The maximum of each window, and, where used, the position."""
    has_uses = any(True for _ in call.op.results[1].uses)
    results = _max_pool(call, _rank(call), indices=has_uses)
    return [*results, *[None] * (2 - len(results))]


def _rank(call: Call) -> int:
    """The number of pooled axes, from the name of the overload (`aten.max_pool2d`)."""
    return int(call.op.SIGNATURE.name.partition("pool")[2][0])


@converts("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(call: Call) -> Value:
    """The mean of each window."""
    x, rank = call.tensor(), _rank(call)
    kernel = call.integers("kernel_size", rank)
    strides, padding = call.integers("stride", rank) or kernel, call.integers("padding", rank)
    divisor = call.value("divisor_override")
    covered = [dim + 2 * pad - k for dim, pad, k in zip(x.dims[-rank:], padding, kernel, strict=True)]
    is_whole = all(c.is_static and c.value % s == 0 for c, s in zip(covered, strides, strict=True))
    if divisor is not None and call.flag("ceil_mode") and not is_whole:
        raise call.unsupported("`divisor_override` of windows that `ceil_mode` cuts off")
    exact = x if divisor is None or is_float(x.element) else x.cast(f64)
    op = graph.PoolOp(
        _batched(exact, rank).ssa,
        "avg",
        kernel,
        strides=strides,
        pads=[*padding] * 2,
        ceil=call.flag("ceil_mode"),
        count_include_pad=call.flag("count_include_pad") or divisor is not None,
    )
    result = call.at.op(op)
    if divisor is not None:
        result = _with_divisor(call, result, prod(kernel), int(str(divisor)))
    return result.reshape(result.dims[1:]) if x.rank == rank + 1 else result


def _with_divisor(call: Call, mean: Value, count: int, divisor: int) -> Value:
    """The sums of windows, by their means, over a divisor; quotients of integers are rounded towards zero."""
    if is_float(call.element):
        return mean * (count / divisor)
    return (mean * float(count)).apply(graph.RoundOp).cast(call.element) / divisor


@converts("adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default")
@converts("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
def adaptive_avg_pool(call: Call) -> Value:
    """The mean of windows that divide each axis into a number of parts."""
    return _adaptive(call, "avg")


@converts("adaptive_max_pool1d.default", "adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def adaptive_max_pool(call: Call) -> list[Value | None]:
    """The maximum of windows that divide each axis into a number of parts, and, where used, the position."""
    if any(True for _ in call.op.results[1].uses):
        return [*_adaptive_with_indices(call)]
    return [_adaptive(call, "max"), None]


def _adaptive(call: Call, kind: str) -> Value:
    """A pool whose window i of n covers floor(i * size / n) .. ceil((i + 1) * size / n)."""
    x, rank = call.tensor(), _rank(call)
    sizes = _output_sizes(call, x, rank)
    if all(size == 1 for size in sizes):
        reduced = "mean" if kind == "avg" else "max"
        return x.reduce(reduced, list(range(x.rank - rank, x.rank)), keep_dims=True)
    pairs = _extents_and_sizes(call, x, sizes)
    if all(extent % size == 0 for extent, size in pairs):
        kernel = [extent // size for extent, size in pairs]
        result = call.at.op(graph.PoolOp(_batched(x, rank).ssa, kind, kernel, strides=kernel))
        return result.reshape(result.dims[1:]) if x.rank == rank + 1 else result
    x = x.cast(computed(x.element)) if kind == "avg" else x
    for offset, (extent, size) in enumerate(pairs):
        x = _adaptive_axis(x, x.rank - rank + offset, extent, size, kind)
    return x.cast(call.element)


def _extents_and_sizes(call: Call, x: Value, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """The extent of each pooled axis, and the number of its windows."""
    extents = x.dims[x.rank - len(sizes) :]
    if not all(extent.is_static for extent in extents):
        raise call.unsupported(
            f"an adaptive pool of {list(sizes)} over an open size {', '.join(map(str, extents))}"
        )
    return [(extent.value, size) for extent, size in zip(extents, sizes, strict=True)]


def _adaptive_with_indices(call: Call) -> tuple[Value, Value]:
    """The maximum of each window, and its first position in the feature map, the last axis first."""
    x, rank = call.tensor(), _rank(call)
    pairs = _extents_and_sizes(call, x, _output_sizes(call, x, rank))
    count = prod(extent for extent, _ in pairs)
    positions = x.formula.iota(count, i64).reshape([extent for extent, _ in pairs]).broadcast_to(x.dims)
    for axis, (extent, size) in zip(range(x.rank - 1, -1, -1), reversed(pairs), strict=False):
        found: list[tuple[Value, Value]] = []
        for first, last in _windows(extent, size):
            part = x.slice(axis, first, last)
            best = x.formula.op(graph.ArgmaxOp(part.ssa, axis, keep_dims=True))
            where = positions.slice(axis, first, last)
            found.append((_picked(part, best, axis), _picked(where, best, axis)))
        x, positions = (x.formula.concat(parts, axis) for parts in zip(*found, strict=True))
    return x, positions


def _picked(x: Value, best: Value, axis: int) -> Value:
    return x.formula.op(graph.GatherElementsOp(x.ssa, best.ssa, axis))


def _windows(extent: int, size: int) -> list[tuple[int, int]]:
    """The first index of each window of an adaptive pool, and the one after its last."""
    return [(i * extent // size, -(-(i + 1) * extent // size)) for i in range(size)]


def _output_sizes(call: Call, x: Value, rank: int) -> list[int]:
    """The number of windows of each axis; None stands for the axis's own size."""
    value = call.value("output_size")
    items = list(value) if isinstance(value, Sequence) else [value] * rank
    sizes: list[int] = []
    for item, own in zip(items, x.dims[x.rank - rank :], strict=True):
        size = own if item is None else item
        if isinstance(size, Dim) and not size.is_static:
            raise call.unsupported(f"an adaptive pool of the open size {size}")
        sizes.append(size.value if isinstance(size, Dim) else int(str(size)))
    return sizes


def _adaptive_axis(x: Value, axis: int, extent: int, size: int, kind: str) -> Value:
    """The windows of one axis, each a slice and a reduction."""
    reduced = "mean" if kind == "avg" else "max"
    parts = [
        x.slice(axis, first, last).reduce(reduced, [axis], keep_dims=True)
        for first, last in _windows(extent, size)
    ]
    return x.formula.concat(parts, axis)
