"""
Resizes as one `linalg.generic` for nearest neighbours, else a weighted sum along each axis in turn.

Indices of the neighbours and their weights come from tables with one entry for each element along an axis;
they are computed in f64, as the operator's meaning does, so that rounding picks the same neighbours, or by
whole numbers where a device lacks f64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from xdsl.dialects import arith, math, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, f32, f64, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars, exact_quotient, signless
from stepwell.dialects.linalg_builder.slices import INDICES, collected, index_of, index_table, table
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Read,
    empty,
    extent,
    generic,
    identity,
    loop_index,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims
from stepwell.dialects.linalg_ext.resize import neighbour_offsets, sampled_axes, stretch, whole_factors
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.passes.tensor.forms.graph_ops import Emission
from stepwell.passes.tensor.forms.resize_ratio import RatioSampling, ratio_sampling
from stepwell.runtime.dims import Dim

F64 = Scalars(f64)


@dataclass
class AxisSampling:
    """The sampling of an axis: sizes and scale as f64 values emitted before the loops."""

    op: graph.ResizeOp
    axis: int
    size: SSAValue
    """The operand's extent along the axis, an index."""
    n: SSAValue
    out: SSAValue
    scale: SSAValue
    length: SSAValue
    """scale · n, not rounded."""
    last: SSAValue
    """n - 1."""

    @staticmethod
    def of(op: graph.ResizeOp, axis: int, out_dim: Dim, rewriter: PatternRewriter) -> AxisSampling:
        """The sampling of an axis, whose sizes and scale are emitted here."""
        dim = dims_of(op.input.type)[axis]
        size = extent(dim, rewriter)
        n, out = _number(dim, size, rewriter), _number(out_dim, extent(out_dim, rewriter), rewriter)
        if op.scales is not None:
            scale = _constant(op.scales.get_values()[axis], rewriter)
        else:
            scale = rewriter.insert(arith.DivfOp(out, n)).result
        length = rewriter.insert(arith.MulfOp(scale, n)).result
        last = rewriter.insert(arith.SubfOp(n, _constant(1.0, rewriter))).result
        return AxisSampling(op, axis, size, n, out, scale, length, last)

    def coordinate(self, index: SSAValue) -> SSAValue:
        """
        The coordinate, on the operand's axis, of the result's element at `index`; emitted inside a body.
        """
        x = arith.SIToFPOp(arith.IndexCastOp(index, i64).result, f64).result
        half, one = F64.constant(0.5), F64.constant(1)
        centre = exact_quotient(F64.add(x, half), self.scale)
        match self.op.coordinate.data:
            case "asymmetric":
                return exact_quotient(x, self.scale)
            case "tf_half_pixel_for_nn":
                return centre
            case "align_corners":
                step = exact_quotient(self.last, F64.subtract(self.length, one))
                return self._unless_single(F64.multiply(x, step), F64.constant(0))
            case "pytorch_half_pixel":
                return self._unless_single(F64.subtract(centre, half), F64.constant(0))
            case "half_pixel_symmetric":
                kept = F64.subtract(one, exact_quotient(self.out, self.length))
                offset = F64.multiply(exact_quotient(self.n, F64.constant(2)), kept)
                return F64.subtract(F64.add(offset, centre), half)
            case "tf_crop_and_resize":
                return self._cropped(x)
            case _:
                return F64.subtract(centre, half)

    def _unless_single(self, coordinate: SSAValue, single: SSAValue) -> SSAValue:
        """A coordinate, or another one when the result has a single element along the axis."""
        return F64.select(F64.compare("eq", self.length, F64.constant(1)), single, coordinate)

    def _cropped(self, x: SSAValue) -> SSAValue:
        """The coordinate for `tf_crop_and_resize`: the region of interest, stretched over the result."""
        rank = len(dims_of(self.op.input.type))
        roi = self.op.roi.get_values() if self.op.roi is not None else (*[0.0] * rank, *[1.0] * rank)
        start, end = roi[self.axis], roi[self.axis + rank]
        span = F64.multiply(F64.constant(end - start), self.last)
        step = exact_quotient(span, F64.subtract(self.length, F64.constant(1)))
        coordinate = F64.add(F64.multiply(F64.constant(start), self.last), F64.multiply(x, step))
        return self._unless_single(coordinate, F64.multiply(F64.constant(0.5 * (start + end)), self.last))

    def is_outside(self, coordinate: SSAValue) -> SSAValue:
        """Whether a coordinate is before the first or after the last element of the axis."""
        before = F64.compare("lt", coordinate, F64.constant(0))
        return arith.OrIOp(before, F64.compare("gt", coordinate, self.last)).result

    def nearest(self, index: SSAValue) -> SSAValue:
        """The index of the element nearest to the coordinate at `index`, by the op's rounding, clamped."""
        coordinate = self.coordinate(index)
        match self.op.nearest.data:
            case "round_prefer_floor":
                rounded = math.CeilOp(F64.subtract(coordinate, F64.constant(0.5))).result
            case "round_prefer_ceil":
                rounded = math.FloorOp(F64.add(coordinate, F64.constant(0.5))).result
            case "ceil":
                rounded = math.CeilOp(coordinate).result
            case _:
                rounded = math.FloorOp(coordinate).result
        return INDICES.clamped(_index(rounded), self.size)


def _constant(number: float, rewriter: PatternRewriter) -> SSAValue:
    """An f64 constant before the loops."""
    return rewriter.insert(arith.ConstantOp(FloatAttr(number, f64))).result


def _number(dim: Dim, size: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A dimension as f64, before the loops."""
    if dim.is_static:
        return _constant(float(dim.value), rewriter)
    whole = rewriter.insert(arith.IndexCastOp(size, i64)).result
    return rewriter.insert(arith.SIToFPOp(whole, f64)).result


def _index(number: SSAValue) -> SSAValue:
    """A whole number in f64 as an index."""
    return arith.IndexCastOp(arith.FPToSIOp(number, i64).result, IndexType()).result


def resize_by_repeats(
    op: graph.ResizeOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Each element repeated along each axis: a broadcast to a new dimension after it, the pairs joined."""
    dims = dims_of(op.input.type)
    factors = whole_factors(op, dims, dims_of(op.result.type))
    assert factors is not None, "the form is legal for whole factors only"
    groups = [[n] if k == 1 else [n, Dim.of(k)] for n, k in zip(dims, factors, strict=True)]
    starts = [sum(len(group) for group in groups[:i]) for i in range(len(groups))]
    split = [dim for group in groups for dim in group]
    rank = len(split)
    write = (empty(tensor_type(element_of_value(op.input), split), rewriter), identity(rank))
    read = (op.input, projection(rank, starts))
    repeated = generic([read], write, [PARALLEL] * rank, lambda s: s[0], rewriter)
    return [join_dims(repeated, groups, rewriter)]


def resize_by_gather(
    op: graph.ResizeOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """Elements read at indices from one table for each sampled axis."""
    shape = dims_of(op.result.type)
    axes, reads = sampled_axes(op, dims_of(op.input.type), shape), list[Read]()
    for axis in axes:
        sampling = _sampling(op, axis, shape[axis], rewriter)
        entries = index_table(shape[axis], sampling.nearest, rewriter)
        reads.append((entries, projection(len(shape), [axis])))

    def positions(loops: Sequence[SSAValue], entries: Sequence[SSAValue]) -> list[SSAValue]:
        at = list(loops)
        for axis, entry in zip(axes, entries, strict=True):
            at[axis] = index_of(entry)
        return at

    return [collected(tensor_of(op.result), op.input, reads, positions, rewriter)]


def resize_by_axes(*, last_first: bool) -> Emission:
    """
    A pass for each sampled axis, a `linalg.generic` that weighs neighbours at indices from tables.

    ```mlir
    %w = linalg.generic … ins(%indices, …, %weights, …) { tensor.extract %x[…], arith.mulf, arith.addf, … }
    %h = linalg.generic … ins(%indices, …, %weights, …) { tensor.extract %w[…], … }
    ```
    Sums between passes stay in the sum's type.
    """

    def emit(
        op: graph.ResizeOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
    ) -> Sequence[SSAValue]:
        stored, dims, shape = (
            element_of_value(op.input),
            list(dims_of(op.input.type)),
            dims_of(op.result.type),
        )
        summed = stored if op.mode.data == "nearest" else f64 if stored == f64 else f32
        axes, value = sampled_axes(op, dims, shape), op.input
        if last_first:
            axes.reverse()
        for axis in axes:
            dims[axis] = shape[axis]
            element = stored if axis == axes[-1] else summed
            sampling = _sampling(op, axis, shape[axis], rewriter)
            value = _pass(value, sampling, tensor_type(element, dims), rewriter)
        return [value]

    return emit


resize_last_axis_first = resize_by_axes(last_first=True)
resize_first_axis_first = resize_by_axes(last_first=False)


def _sampling(
    op: graph.ResizeOp, axis: int, out: Dim, rewriter: PatternRewriter
) -> AxisSampling | RatioSampling:
    """The sampling of an axis; by a quotient of integers, if there is one, for a target without f64."""
    return ratio_sampling(op, axis, out, rewriter) or AxisSampling.of(op, axis, out, rewriter)


def _pass(
    value: SSAValue, sampling: AxisSampling | RatioSampling, type: Tensor, rewriter: PatternRewriter
) -> SSAValue:
    """A tensor of a type, sampled along one axis: indices and weights of the neighbours come from tables."""
    rank, op = len(dims_of(type)), sampling.op
    source = Scalars(element_of_value(value))
    sums = source if op.mode.data == "nearest" else Scalars(f64 if source.type == f64 else f32)
    tables = sampling.tables if isinstance(sampling, RatioSampling) else partial(_tables, sampling)
    neighbours, weights = tables(dims_of(type)[sampling.axis], sums, rewriter)
    crops = op.coordinate.data == "tf_crop_and_resize"

    def body(entries: Sequence[SSAValue]) -> SSAValue:
        loops = [loop_index(loop) for loop in range(rank)]
        terms: list[SSAValue] = []
        # Weighted neighbours, read at table entries along the sampled axis.
        for i in range(len(neighbours)):
            at = [index_of(entries[i]) if loop == sampling.axis else j for loop, j in enumerate(loops)]
            element = tensor.ExtractOp(value, at, signless(source.element)).result
            number = source.convert(source.widen(element), sums)
            terms.append(sums.multiply(number, entries[len(neighbours) + i]) if weights else number)
        result = reduce(sums.add, terms)
        # `tf_crop_and_resize` extrapolates outside the operand.
        if crops and isinstance(sampling, AxisSampling):
            outside = sampling.is_outside(sampling.coordinate(loops[sampling.axis]))
            result = sums.select(outside, sums.constant(op.extrapolation.value.data), result)
        return _as_element(result, sums, Scalars(type.element_type))

    reads = [(entries, projection(rank, [sampling.axis])) for entries in (*neighbours, *weights)]
    write = (empty(type, rewriter), identity(rank))
    return generic(reads, write, [PARALLEL] * rank, body, rewriter)


def _tables(
    sampling: AxisSampling, out: Dim, sums: Scalars, rewriter: PatternRewriter
) -> tuple[list[SSAValue], list[SSAValue]]:
    """
    Tables of the indices of the neighbours of each element along an axis, and of their weights if several.
    """
    op = sampling.op
    if op.mode.data == "nearest":
        return [index_table(out, sampling.nearest, rewriter)], []
    offsets = neighbour_offsets(op, dims_of(op.input.type), dims_of(op.result.type), sampling.axis)

    def index(i: SSAValue, offset: int) -> SSAValue:
        front = math.FloorOp(sampling.coordinate(i)).result
        return INDICES.clamped(_index(F64.add(front, F64.constant(offset))), sampling.size)

    def weight(i: SSAValue, which: int) -> SSAValue:
        return F64.convert(_weights(sampling, sampling.coordinate(i), offsets)[which], sums)

    indices = [index_table(out, lambda i, o=offset: index(i, o), rewriter) for offset in offsets]
    weights = [
        table(out, sums.type, lambda i, w=which: weight(i, w), rewriter) for which in range(len(offsets))
    ]
    return indices, weights


def _weights(sampling: AxisSampling, coordinate: SSAValue, offsets: range) -> list[SSAValue]:
    """The weights of the neighbours of a coordinate; beyond the axis its first or last element counts."""
    op = sampling.op
    front = math.FloorOp(coordinate).result
    factor = F64.constant(stretch(op, dims_of(op.input.type), dims_of(op.result.type), sampling.axis))
    taken = [F64.add(front, F64.constant(offset)) for offset in offsets]
    weights = [_weight(op, F64.multiply(F64.subtract(at, coordinate), factor)) for at in taken]
    if op.exclude_outside is not None:
        zero = F64.constant(0)
        pairs = zip(taken, weights, strict=True)
        weights = [F64.select(sampling.is_outside(at), zero, weight) for at, weight in pairs]
    if op.exclude_outside is not None or op.antialias is not None:
        total = reduce(F64.add, weights)
        weights = [F64.divide(weight, total) for weight in weights]
    return weights


def _weight(op: graph.ResizeOp, distance: SSAValue) -> SSAValue:
    """The weight of a neighbour by its distance, from the linear or Keys' cubic kernel."""
    d, one = F64.absolute(distance), F64.constant(1)
    if op.mode.data == "linear":
        return F64.maximum(F64.subtract(one, d), F64.constant(0))
    a = op.cubic_a.value.data
    near = _polynomial(d, [a + 2, -(a + 3), 0, 1])
    far = _polynomial(d, [a, -5 * a, 8 * a, -4 * a])
    beyond = F64.select(F64.compare("lt", d, F64.constant(2)), far, F64.constant(0))
    return F64.select(F64.compare("le", d, one), near, beyond)


def _polynomial(x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """A polynomial by Horner's method, the highest power first."""
    result = F64.constant(coefficients[0])
    for coefficient in coefficients[1:]:
        result = F64.add(F64.multiply(result, x), F64.constant(coefficient))
    return result


def _as_element(number: SSAValue, sums: Scalars, element: Scalars) -> SSAValue:
    """A weighted sum converted to the element type: integers round half to even and saturate."""
    if element.is_float or not sums.is_float:
        return sums.convert(number, element)
    rounded = math.RoundEvenOp(number).result
    low, high = sums.constant(element.lowest()), sums.constant(element.highest())
    return sums.convert(sums.minimum(sums.maximum(rounded, low), high), element)
