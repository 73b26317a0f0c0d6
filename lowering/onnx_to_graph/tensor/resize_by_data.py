"""`Resize` by scales that are data → for each axis a gather of neighbours and their weighted sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.onnx_to_graph.expressions import Value
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements
from stepwell.lowering.onnx_to_graph.tensor.interpolation import TAPS, cubic
from stepwell.runtime.dims import Dim

COORDINATES = ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners")
"""The transformations that are supported here."""


@dataclass(frozen=True)
class Sampling:
    """The sampling attributes of a `Resize`, by the names of `graph.resize`."""

    mode: str
    coordinate: str
    nearest: str
    cubic_a: float
    exclude_outside: bool


def resize_by(x: Value, scales: Value, axes: Sequence[int], how: Sampling) -> Value:
    """A tensor with some axes resized by scales that are data, one per axis."""
    scales = scales.cast(f64)
    sizes = x.formula.op(graph.ExtentsOp([x.dims[axis] for axis in axes])).cast(f64)
    wanted = (sizes * scales).apply(graph.FloorOp).cast(i64)
    element = x.element
    x = x.cast(f32) if how.mode != "nearest" and element != f64 else x
    for position, (axis, out) in enumerate(
        zip(axes, bound_elements(wanted.ssa, x.formula.rewriter), strict=True)
    ):
        x = _along(x, axis, out, scales.at(0, position), how)
    if not is_float(element) and how.mode != "nearest":
        x = x.apply(graph.RoundOp)
    return x.cast(element)


def _along(x: Value, axis: int, out: Dim, scale: Value, how: Sampling) -> Value:
    """A tensor resized along one axis: the weighted sum of the neighbours of each position."""
    at, size = x.formula, x.dims[axis]
    position = coordinates(scale, size, out, how.coordinate)
    last = at.extent(size, i64) - 1
    if how.mode == "nearest":
        return x.gather(_rounded(position, how.nearest).cast(i64).clip(0, last), axis)
    base = position.apply(graph.FloorOp)
    taps = at.array(TAPS[how.mode], f64).unsqueeze(0)
    index = (base.unsqueeze(1) + taps).cast(i64)
    distance = abs((position - base).unsqueeze(1) - taps)
    weight = 1 - distance if how.mode == "linear" else cubic(distance, how.cubic_a)
    if how.exclude_outside:
        weight = at.where((index >= 0) & (index <= last), weight, 0.0)
        weight = weight / weight.reduce("sum", [1], keep_dims=True)
    found = x.gather(index.clip(0, last), axis)
    trailing = range(2, 2 + x.rank - axis - 1)
    return (found * weight.cast(x.element).unsqueeze(*trailing)).reduce("sum", [axis + 1])


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
