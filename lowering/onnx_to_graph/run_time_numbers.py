"""
Arithmetic in `graph` ops on small integer tensors that determine shapes at run time.

If bounds, pads or axes are inputs of the model, a kernel computes sizes and positions from them by the same
formulas that the conversion uses for constants; elements are then selected by `graph.gather`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import IN_BOUNDS, STOP_FUSION
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements, extents
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.runtime.dims import Dim


class Numbers:
    """Builds `graph` ops on i64 tensors for one pattern; Python numbers become constants of rank 0."""

    def __init__(self, lowering: OnnxLowering, rewriter: PatternRewriter):
        self._lowering = lowering
        self._rewriter = rewriter

    def of(self, value: SSAValue | Sequence[int] | int) -> SSAValue:
        """A value as an i64 tensor."""
        if not isinstance(value, SSAValue):
            return self._lowering.constant(np.array(value, np.int64), self._rewriter)
        return value if tensor_of(value).element_type == i64 else self._emit(graph.CastOp(value, i64))

    def extents(self, dims: Sequence[Dim]) -> SSAValue:
        """Dimensions as data."""
        return extents(dims, self._lowering, self._rewriter)

    def add(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a + b."""
        return self._emit(graph.AddOp(a, self.of(b)))

    def subtract(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a - b."""
        return self._emit(graph.SubtractOp(a, self.of(b)))

    def multiply(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a * b."""
        return self._emit(graph.MultiplyOp(a, self.of(b)))

    def divide(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a / b, rounded toward zero."""
        return self._emit(graph.DivideOp(a, self.of(b)))

    def modulo(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a mod b, with the sign of b."""
        return self._emit(graph.RemainderOp(a, self.of(b)))

    def minimum(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """The lesser of a and b."""
        return self._emit(graph.MinimumOp(a, self.of(b)))

    def maximum(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """The greater of a and b."""
        return self._emit(graph.MaximumOp(a, self.of(b)))

    def less(self, a: SSAValue, b: SSAValue | int) -> SSAValue:
        """a < b, as i1."""
        return self._emit(graph.LessOp(a, self.of(b)))

    def where(self, condition: SSAValue, a: SSAValue | int, b: SSAValue | int) -> SSAValue:
        """a where the condition is true, else b."""
        return self._emit(graph.WhereOp(condition, self.of(a), self.of(b)))

    def clamp(self, a: SSAValue, low: SSAValue | int, high: SSAValue | int) -> SSAValue:
        """a clamped between two bounds, the upper one applied first."""
        return self.maximum(self.minimum(a, high), low)

    def part(self, a: SSAValue, start: int, count: int) -> SSAValue:
        """Some consecutive elements of a vector."""
        return self._emit(graph.SliceOp(a, [start], [start + count], [1]))

    def element(self, a: SSAValue, index: int) -> SSAValue:
        """An element of a vector, as rank 0."""
        return self._emit(graph.SqueezeOp(self.part(a, index, 1), [0]))

    def spread(self, default: SSAValue, axes: SSAValue, values: SSAValue) -> SSAValue:
        """A vector with some elements replaced, at axes that may count from the end."""
        rank = dims_of(default.type)[0].value
        wrapped = self.where(self.less(axes, 0), self.add(axes, rank), axes)
        return self._emit(graph.ScatterElementsOp(default, wrapped, values, 0))

    def put(self, x: SSAValue, positions: SSAValue, values: SSAValue) -> SSAValue:
        """A vector with elements replaced at positions that are all in bounds."""
        op = graph.ScatterElementsOp(x, positions, values, 0)
        op.attributes[IN_BOUNDS] = UnitAttr()
        return self._emit(op)

    def count_up(self, count: Dim) -> SSAValue:
        """The numbers 0, 1, 2, … below `count`."""
        return self._emit(graph.IotaOp([count], 0, i64))

    def take(self, x: SSAValue, positions: SSAValue, axis: int) -> SSAValue:
        """The elements of `x` at positions along an axis, all of them in bounds."""
        op = graph.GatherOp(x, positions, axis, bounds="clip")
        # Fused into its users, it would be computed for tiles of a size without bound.
        op.attributes[STOP_FUSION] = UnitAttr()
        return self._emit(op)

    def bind(self, sizes: SSAValue) -> tuple[Dim, ...]:
        """The elements of a vector as dimensions."""
        return bound_elements(sizes, self._rewriter)

    def _emit(self, op: Operation) -> SSAValue:
        return self._rewriter.insert(op).results[0]


def slice_at_run_time(
    x: SSAValue,
    starts: SSAValue,
    ends: SSAValue,
    axes: SSAValue,
    steps: SSAValue,
    touched: Sequence[int],
    numbers: Numbers,
) -> SSAValue:
    """
    Python's slice of each axis, with bounds that are data.

    Args: vectors of equal length; `touched` are the axes that may be among `axes`.
    """
    dims = dims_of(x.type)
    rank = len(dims)
    sizes = numbers.extents(dims)
    step = numbers.spread(numbers.of([1] * rank), axes, steps)
    start = numbers.spread(numbers.of([0] * rank), axes, starts)
    end = numbers.spread(sizes, axes, ends)
    runs_back = numbers.less(step, 0)
    low = numbers.where(runs_back, -1, 0)
    high = numbers.where(runs_back, numbers.subtract(sizes, 1), sizes)

    def inside(bound: SSAValue) -> SSAValue:
        counted = numbers.where(numbers.less(bound, 0), numbers.add(bound, sizes), bound)
        return numbers.clamp(counted, low, high)

    first, last = inside(start), inside(end)
    # Rounded up: one less than a whole step, in the step's direction, is added before the division.
    rest = numbers.subtract(step, numbers.where(runs_back, -1, 1))
    count = numbers.divide(numbers.add(numbers.subtract(last, first), rest), step)
    counts = numbers.bind(numbers.maximum(count, 0))
    for axis in touched:
        index = numbers.multiply(numbers.count_up(counts[axis]), numbers.element(step, axis))
        x = numbers.take(x, numbers.add(index, numbers.element(first, axis)), axis)
    return x


def pad_at_run_time(
    x: SSAValue,
    pads: SSAValue,
    axes: SSAValue,
    touched: Sequence[int],
    mode: str,
    value: SSAValue | None,
    lowering: OnnxLowering,
    rewriter: PatternRewriter,
) -> SSAValue:
    """
    Padding, or cropping where a pad is negative, by amounts that are data.

    Args: `pads` has the begins of `axes`, then their ends; `touched` are the axes that may be among `axes`.
    """
    numbers = Numbers(lowering, rewriter)
    dims = dims_of(x.type)
    rank, half = len(dims), dims_of(axes.type)[0].value
    sizes, none = numbers.extents(dims), numbers.of([0] * rank)
    begin = numbers.spread(none, axes, numbers.part(pads, 0, half))
    end = numbers.spread(none, axes, numbers.part(pads, half, half))
    counts = numbers.bind(numbers.add(numbers.add(sizes, begin), end))
    if mode == "constant" and value is None:
        value = lowering.scalar(0, tensor_of(x).element_type, rewriter)
    for axis in touched:
        size = numbers.element(sizes, axis)
        index = numbers.subtract(numbers.count_up(counts[axis]), numbers.element(begin, axis))
        taken = numbers.take(x, _source(index, size, mode, numbers), axis)
        if mode == "constant":
            assert value is not None
            outside = rewriter.insert(
                graph.OrOp(numbers.less(index, 0), numbers.less(numbers.subtract(size, 1), index))
            ).result
            if rank - axis > 1:
                outside = rewriter.insert(graph.ExpandDimsOp(outside, list(range(1, rank - axis)))).result
            taken = rewriter.insert(graph.WhereOp(outside, value, taken)).result
        x = taken
    return x


def _source(index: SSAValue, size: SSAValue, mode: str, numbers: Numbers) -> SSAValue:
    """The index in the input of each element of the padded axis."""
    last = numbers.subtract(size, 1)
    match mode:
        case "wrap":
            return numbers.modulo(index, size)
        case "reflect":
            period = numbers.maximum(numbers.multiply(last, 2), 1)
            there = numbers.modulo(index, period)
            return numbers.minimum(there, numbers.subtract(period, there))
        case _:
            return numbers.clamp(index, 0, last)


def broadcast_at_run_time(x: SSAValue, shape: Sequence[Dim], numbers: Numbers) -> SSAValue:
    """A tensor whose dimensions equal those of a shape or are 1, decided at run time."""
    offset = len(shape) - len(dims_of(x.type))
    for axis, dim in enumerate(dims_of(x.type)):
        wanted = shape[axis + offset]
        if dim == 1 or dim.proves_equal(wanted):
            continue
        last = numbers.subtract(numbers.extents([dim]), 1)
        x = numbers.take(x, numbers.minimum(numbers.count_up(wanted), last), axis)
    return x
