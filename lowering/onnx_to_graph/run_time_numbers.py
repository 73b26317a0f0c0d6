"""
Arithmetic in `graph` ops on small integer tensors that determine shapes at run time.

If bounds, pads or axes are inputs of the model, a kernel computes sizes and positions from them by the same
formulas that the conversion uses for constants; elements are then selected by `graph.gather`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import STOP_FUSION, in_bounds
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements, extents
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim


class Numbers(Formula):
    """Formulas on i64 tensors, for one pattern."""

    def of(self, value: SSAValue | Sequence[int] | int) -> Value:
        """A value as an i64 tensor; Python numbers become constants."""
        if isinstance(value, SSAValue):
            return self.value(value).cast(i64)
        return self.value(self.lowering.constant(np.array(value, np.int64), self.rewriter))

    def extents(self, dims: Sequence[Dim]) -> Value:
        """Dimensions as data."""
        return self.value(extents(dims, self.lowering, self.rewriter))

    def spread(self, default: Value, axes: Value, values: Value) -> Value:
        """A vector with some elements replaced, at axes that may count from the end."""
        wrapped = self.where(axes < 0, axes + default.dims[0].value, axes)
        return self.op(graph.ScatterElementsOp(default.ssa, wrapped.ssa, values.ssa, 0))

    def put(self, x: Value, positions: Value, values: Value) -> Value:
        """A vector with elements replaced at positions that are all in bounds."""
        return self.op(in_bounds(graph.ScatterElementsOp(x.ssa, positions.ssa, values.ssa, 0)))

    def count_up(self, count: Dim) -> Value:
        """The numbers 0, 1, 2, … below `count`."""
        return self.iota(count, i64)

    def take(self, x: Value, positions: Value, axis: int) -> Value:
        """The elements of `x` at positions along an axis, all of them in bounds."""
        op = graph.GatherOp(x.ssa, positions.ssa, axis, bounds="clip")
        # Fused into its users, it would be computed for tiles of a size without bound.
        op.attributes[STOP_FUSION] = UnitAttr()
        return self.op(op)

    def bind(self, sizes: Value) -> tuple[Dim, ...]:
        """The elements of a vector as dimensions."""
        return bound_elements(sizes.ssa, self.rewriter)


def slice_at_run_time(
    x: Value, starts: Value, ends: Value, axes: Value, steps: Value, touched: Sequence[int], numbers: Numbers
) -> Value:
    """
    Python's slice of each axis, with bounds that are data.

    Args: vectors of equal length; `touched` are the axes that may be among `axes`.
    """
    sizes = numbers.extents(x.dims)
    step = numbers.spread(numbers.of([1] * x.rank), axes, steps)
    start = numbers.spread(numbers.of([0] * x.rank), axes, starts)
    end = numbers.spread(sizes, axes, ends)
    runs_back = step < 0
    low = numbers.where(runs_back, numbers.of(-1), 0)
    high = numbers.where(runs_back, sizes - 1, sizes)

    def inside(bound: Value) -> Value:
        counted = numbers.where(bound < 0, bound + sizes, bound)
        return counted.minimum(high).maximum(low)

    first, last = inside(start), inside(end)
    # Rounded up: one less than a whole step, in the step's direction, is added before the division.
    rest = step - numbers.where(runs_back, numbers.of(-1), 1)
    count = (last - first + rest) / step
    counts = numbers.bind(count.maximum(0))
    for axis in touched:
        index = numbers.count_up(counts[axis]) * step.at(0, axis)
        x = numbers.take(x, index + first.at(0, axis), axis)
    return x


def pad_at_run_time(
    x: Value,
    pads: Value,
    axes: Value,
    touched: Sequence[int],
    mode: str,
    value: SSAValue | None,
    numbers: Numbers,
) -> Value:
    """
    Padding, or cropping where a pad is negative, by amounts that are data.

    Args: `pads` has the begins of `axes`, then their ends; `touched` are the axes that may be among `axes`;
    `value` is the padding of mode `constant`, if not 0.
    """
    half = axes.dims[0].value
    sizes, none = numbers.extents(x.dims), numbers.of([0] * x.rank)
    begin = numbers.spread(none, axes, pads.slice(0, 0, half))
    end = numbers.spread(none, axes, pads.slice(0, half, 2 * half))
    counts = numbers.bind(sizes + begin + end)
    filling = None if value is None else numbers.value(value)
    if mode == "constant" and filling is None:
        filling = numbers.number(0, x.element)
    for axis in touched:
        size = sizes.at(0, axis)
        index = numbers.count_up(counts[axis]) - begin.at(0, axis)
        taken = numbers.take(x, _source(index, size, mode), axis)
        if filling is not None:
            outside = (index < 0) | (size - 1 < index)
            taken = numbers.where(outside.unsqueeze(*range(1, x.rank - axis)), filling, taken)
        x = taken
    return x


def _source(index: Value, size: Value, mode: str) -> Value:
    """The index in the input of each element of the padded axis."""
    last = size - 1
    match mode:
        case "wrap":
            return index % size
        case "reflect":
            period = (last * 2).maximum(1)
            there = index % period
            return there.minimum(period - there)
        case _:
            return index.minimum(last).maximum(0)


def broadcast_at_run_time(x: SSAValue, shape: Sequence[Dim], numbers: Numbers) -> SSAValue:
    """A tensor whose dimensions equal those of a shape or are 1, decided at run time."""
    stretched = numbers.value(x)
    offset = len(shape) - stretched.rank
    for axis, dim in enumerate(stretched.dims):
        wanted = shape[axis + offset]
        if dim == 1 or dim.proves_equal(wanted):
            continue
        last = numbers.extents([dim]) - 1
        stretched = numbers.take(stretched, numbers.count_up(wanted).minimum(last), axis)
    return stretched.ssa
