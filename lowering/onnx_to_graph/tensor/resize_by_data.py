"""`Resize` by numbers that are data → for each axis a gather of neighbours and their weighted sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements
from stepwell.lowering.onnx_to_graph.tensor.interpolation import TAPS, cubic
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class Sampling:
    """
    The sampling attributes of a `Resize`, by the names of `graph.resize`.

    The rounding `by_scale` is from opset 10: up if any axis shrinks, else down.
    """

    mode: str
    coordinate: str
    nearest: str
    cubic_a: float
    antialias: bool
    exclude_outside: bool
    extrapolation: float


@dataclass(frozen=True)
class Request:
    """The scale of each resized axis, their sizes, and their regions: starts, then ends."""

    scales: Value
    sizes: Value
    region: Value | None


def request_by_scales(x: Value, axes: Sequence[int], scales: Value, region: Value | None) -> Request:
    """Sizes are rounded down."""
    scales = scales.cast(f64)
    return Request(scales, (_lengths(x, axes) * scales).apply(graph.FloorOp).cast(i64), region)


def request_by_sizes(
    x: Value, axes: Sequence[int], sizes: Value, policy: str, region: Value | None
) -> Request:
    """With a policy other than stretch, one scale for all axes: the least or greatest quotient of sizes."""
    lengths = _lengths(x, axes)
    scales = sizes.cast(f64) / lengths.maximum(1.0)
    if policy == "stretch":
        return Request(scales, sizes.cast(i64), region)
    common = scales.reduce("min" if policy == "not_larger" else "max", [0], keep_dims=True)
    rounded = (lengths * common + 0.5).apply(graph.FloorOp).cast(i64)
    return Request(common.broadcast_to(scales.dims), rounded, region)


def _lengths(x: Value, axes: Sequence[int]) -> Value:
    return x.formula.op(graph.ExtentsOp([x.dims[axis] for axis in axes])).cast(f64)


def resize_by(x: Value, axes: Sequence[int], request: Request, how: Sampling) -> Value:
    """A tensor with some axes resized by data."""
    at, element = x.formula, x.element
    x = x.cast(f32) if how.mode != "nearest" and element != f64 else x
    outs = bound_elements(request.sizes.ssa, at.rewriter)
    taps = _window_lengths(request.scales, how, len(axes))
    outside: Value | None = None
    for i, (axis, out) in enumerate(zip(axes, outs, strict=True)):
        positions = _positions(request, i, len(axes), x.dims[axis], out, how.coordinate)
        if how.coordinate == "tf_crop_and_resize":
            beyond = (positions < 0) | (positions > at.extent(x.dims[axis], f64) - 1)
            beyond = beyond.unsqueeze(*(n for n in range(x.rank) if n != axis))
            outside = beyond if outside is None else outside | beyond
        if how.mode == "nearest":
            x = _nearest(x, axis, positions, request.scales, how)
        else:
            x = _summed(x, axis, positions, request.scales.at(0, i), taps[i], how)
    if outside is not None:
        x = at.where(outside, how.extrapolation, x)
    if not is_float(element) and how.mode != "nearest":
        x = x.apply(graph.RoundOp)
    return x.cast(element)


def _window_lengths(scales: Value, how: Sampling, axes: int) -> Sequence[Dim | None]:
    """The half width of the window of each axis; None where the mode says it."""
    if not how.antialias or how.mode == "nearest":
        return [None] * axes
    reach = _reach(how) / scales.minimum(1.0)
    return bound_elements(reach.apply(graph.CeilOp).cast(i64).ssa, scales.formula.rewriter)


def _reach(how: Sampling) -> float:
    """Half the width of the kernel of a mode."""
    return max(TAPS[how.mode])


def _nearest(x: Value, axis: int, positions: Value, scales: Value, how: Sampling) -> Value:
    """The element nearest to each position along an axis."""
    last = x.formula.extent(x.dims[axis], i64) - 1
    if how.nearest == "by_scale":
        shrinks = scales.reduce("min", [0]) < 1.0
        ends = (positions.apply(graph.CeilOp), positions.apply(graph.FloorOp))
        rounded = x.formula.where(shrinks, *ends)
    else:
        rounded = _rounded(positions, how.nearest)
    return x.gather(rounded.cast(i64).clip(0, last), axis)


def _summed(x: Value, axis: int, positions: Value, scale: Value, reach: Dim | None, how: Sampling) -> Value:
    """
    The weighted sum of the neighbours of each position along an axis.

    With antialiasing the kernel is as wide as the scale shrinks: its window has a length of the run.
    """
    at, last = x.formula, x.formula.extent(x.dims[axis], i64) - 1
    base = positions.apply(graph.FloorOp)
    if reach is None:
        taps = at.array(TAPS[how.mode], f64).unsqueeze(0)
    else:
        taps = (at.iota(reach * 2, f64) + 1 - at.extent(reach, f64)).unsqueeze(0)
    index = (base.unsqueeze(1) + taps).cast(i64)
    distance = abs((positions - base).unsqueeze(1) - taps)
    if reach is not None:
        distance = distance * scale.minimum(1.0)
    weight = _weight(distance, how)
    if how.exclude_outside:
        weight = at.where((index >= 0) & (index <= last), weight, 0.0)
    if how.exclude_outside or how.antialias:
        weight = weight / weight.reduce("sum", [1], keep_dims=True)
    found = x.gather(index.clip(0, last), axis)
    trailing = range(2, 2 + x.rank - axis - 1)
    return (found * weight.cast(x.element).unsqueeze(*trailing)).reduce("sum", [axis + 1])


def _weight(distance: Value, how: Sampling) -> Value:
    """The kernel of a mode at distances of neighbours; windows of antialiasing end beyond its width."""
    if how.mode == "linear":
        return (1 - distance).maximum(0.0) if how.antialias else 1 - distance
    weight = cubic(distance, how.cubic_a)
    return distance.formula.where(distance < 2, weight, 0.0) if how.antialias else weight


def _positions(request: Request, i: int, axes: int, size: Dim, out: Dim, kind: str) -> Value:
    """The position in the tensor of each element of the result, along a resized axis."""
    scale = request.scales.at(0, i)
    if kind != "tf_crop_and_resize":
        return coordinates(scale, size, out, kind)
    at, region = scale.formula, request.region
    bounds = (0.0, 1.0) if region is None else (region.at(0, i).cast(f64), region.at(0, axes + i).cast(f64))
    start, end = (bound if isinstance(bound, Value) else at.number(bound, f64) for bound in bounds)
    steps = at.extent(size, f64) - 1
    scaled = at.extent(size, f64) * scale
    one = scaled.equals(1.0)
    step = (end - start) * steps / at.where(one, 1.0, scaled - 1)
    spread = start * steps + at.iota(out, f64) * step
    return at.where(one, (start + end) * 0.5 * steps, spread)


def coordinates(scale: Value, size: Dim, out: Dim, kind: str) -> Value:
    """The position in the tensor of each element of the result, along an axis."""
    at = scale.formula
    index, length = at.iota(out, f64), at.extent(size, f64)
    scaled = length * scale  # not rounded to a size
    if kind == "asymmetric":
        return index / scale
    if kind == "align_corners":
        steps = at.where(scaled.equals(1.0), at.number(1.0, f64), scaled - 1)
        return at.where(scaled.equals(1.0), index * 0.0, index * (length - 1) / steps)
    if kind == "tf_half_pixel_for_nn":
        return (index + 0.5) / scale
    position = (index + 0.5) / scale - 0.5
    if kind == "pytorch_half_pixel":
        return at.where(scaled.equals(1.0), index * 0.0, position)
    if kind == "half_pixel_symmetric":
        return position + length * 0.5 * (1 - at.extent(out, f64) / scaled)
    return position


def _rounded(position: Value, how: str) -> Value:
    """Positions rounded to the nearest element by a mode of ONNX."""
    if how == "round_prefer_floor":
        return (position - 0.5).apply(graph.CeilOp)
    if how == "round_prefer_ceil":
        return (position + 0.5).apply(graph.FloorOp)
    return position.apply(graph.FloorOp if how == "floor" else graph.CeilOp)
