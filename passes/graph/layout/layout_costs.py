"""The cost model of `convert-layout`: whether a convolution is faster on blocked or on plain feature maps."""

from __future__ import annotations

from math import ceil, prod

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.costs.machine import MACHINE, strided_read, vectors_of
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.passes.graph.layout.winograd_windows import not_for_winograd
from stepwell.runtime.layout import parse_layout


def runs_plain(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Whether a convolution alone is as fast on plain feature maps, with lanes along rows, as in blocks."""
    if is_pointwise(op):
        return not _wastes_lanes(op, values.block)
    if _is_moved(op):
        return False
    filters = dims_of(op.w.type)
    if op.groups.value.data > 1:
        is_cheap = max(op.strides.get_values()) <= MACHINE.cheap_stride
        return filters[1] == 1 and _is_wide(op, values) and is_cheap
    is_deep = filters[1].value >= values.block
    if is_deep and _is_for_winograd(op, values):
        return False
    gain = blocks_cost(op, values.block) - rows_cost(op, values.block)
    return _is_wide(op, values) and gain >= (LAYOUTS.most_waste if is_deep else 0)


def rows_are_short(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Whether lanes along short rows of results are idle more than lanes along a padded block of filters."""
    is_dense = isinstance(op.w.owner, graph.ConstantOp) and op.groups.value.data == 1
    if values.block == 1 or not values.wanted.supports(op.result) or not is_dense or is_pointwise(op):
        return False
    return blocks_cost(op, values.block) < rows_cost(op, values.block)


def reads_plain(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """
    Whether a convolution with blocked filters should read its input plain, an element a vector of filters.

    That is as fast as reading blocks, which are better if they are there already, or for Winograd's 3x3
    windows. With strides that skip pixels, converting these is wasted, and channels may not fill blocks (1x1
    of 513 at 40x40, stride 2: 2.4 x, 3x3 of 39 at 133x32, stride 2: 1.2 x). Filters of few vectors read a
    feature map more often, and blocks are closer together in memory (1x1 of 256 at 56x56, stride 2, with 8
    lanes: 0.9 x).
    """
    filters = dims_of(op.w.type)
    if values.is_computed(op.x) or isinstance(op.x.owner, graph.TransposeOp):
        return values.block > filters[1].value and not values.is_computed(op.x)
    if op.groups.value.data > 1 or filters[1].value < values.block:
        return True
    if values.block > MACHINE.small_vector and _passes_over_pixels(op):
        return True
    return filters[1].value % values.block != 0 and not _is_for_winograd(op, values)


def _passes_over_pixels(op: graph.ConvOp) -> bool:
    """Whether strides are larger than the filter, so that no window contains some of the pixels."""
    points = (dim.value for dim in dims_of(op.w.type)[2:])
    return any(step > n for step, n in zip(op.strides.get_values(), points, strict=True))


def is_pointwise(op: graph.ConvOp) -> bool:
    """Whether a convolution is a matrix product: 1x1 without strides (in NCHW too at 92 to 97 % of peak)."""
    points = parse_layout(op.kernel_layout.data).logical(dims_of(op.w.type))
    sizes = [points[letter] for letter in parse_layout(op.kernel_layout.data).spatial]
    return all(n == 1 for n in (*sizes, *op.strides.get_values(), op.groups.value.data)) and not any(
        op.pads.get_values()
    )


def _wastes_lanes(op: graph.ConvOp, lanes: int) -> bool:
    """Whether the last vector of pixels is so empty that blocks are worth their conversion (7x7, 1x1)."""
    pixels = prod(dim.value if dim.is_static else lanes for dim in dims_of(op.result.type)[2:])
    wasted = vectors_of(pixels, lanes) * lanes / pixels - 1
    filters, channels = (dim.value for dim in dims_of(op.w.type)[:2])
    is_worth_it = wasted * filters * channels > LAYOUTS.conversion_steps * (filters + channels)
    return wasted > LAYOUTS.most_waste and is_worth_it


def _is_wide(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Whether a row of results fills at least one vector."""
    width = dims_of(op.result.type)[-1]
    return width.is_static and width.value >= values.block


def rows_cost(op: graph.ConvOp, lanes: int) -> float:
    """The cost of a vector of results with lanes along rows: idle lanes in the last one, strided reads."""
    stride, width = op.strides.get_values()[-1], dims_of(op.result.type)[-1]
    idle = vectors_of(width.value, lanes) * lanes / width.value if width.is_static else 1
    return idle * strided_read(stride)


def blocks_cost(op: graph.ConvOp, lanes: int) -> float:
    """The cost of a vector of results with lanes along filters: idle lanes, and the result's conversion."""
    filters = [dim.value for dim in dims_of(op.w.type)]
    return ceil(filters[0] / lanes) * lanes / filters[0] + LAYOUTS.result_steps / prod(filters[1:])


def _is_for_winograd(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Whether `winograd-conv` may rewrite a convolution if it is blocked."""
    return values.wanted.winograd and not_for_winograd(op) is None


def _is_moved(op: graph.ConvOp) -> bool:
    """Whether a transpose makes the input or reads the result: it can be merged with the layout transform."""
    around = [op.x.owner, *(use.operation for use in op.result.uses)]
    return any(isinstance(neighbour, graph.TransposeOp) for neighbour in around)
