"""Whether a convolution runs faster in blocks or on plain images, for `convert-layout`."""

from __future__ import annotations

from math import ceil, prod

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.layout.feature_map_layouts import ImageForms
from stepwell.runtime.layout import parse_layout

# Elements so far apart are read as vectors and shuffled.
_SHUFFLED_STRIDE = 2
# What steps over every other pixel cost, and over more; steps of a sum that take as long as converting its
# result (3 to 64 channels at 224x224, stride 2, in rows: 3x3 0.89 of the time in blocks, 7x7 1.16.)
_SHUFFLING, _GATHERING = 1.15, 4
_RESULT_STEPS = 8
# Steps of a sum that take as long as converting its result, and lanes left idle that cost more than that.
_CONVERSION_STEPS = 4
_MOST_WASTE = 0.1
# Floats of a register whose half takes no less time.
_SMALL_VECTOR = 8
# The points of filters, each way, that `winograd-conv` takes.
_WINOGRAD_POINTS = 3


def runs_plain(op: graph.ConvOp, values: ImageForms) -> bool:
    """Whether a convolution by itself is no slower on plain images, lanes along rows, than in blocks."""
    if is_pointwise(op):
        return not _wastes_lanes(op, values.block)
    if _is_moved(op):
        return False
    filters = dims_of(op.w.type)
    if op.groups.value.data > 1:
        return filters[1] == 1 and _is_wide(op, values) and max(op.strides.get_values()) <= _SHUFFLED_STRIDE
    is_deep = filters[1].value >= values.block
    if is_deep and _is_for_winograd(op, values):
        return False
    gain = _blocks_cost(op, values.block) - _rows_cost(op, values.block)
    return _is_wide(op, values) and gain >= (_MOST_WASTE if is_deep else 0)


def rows_are_short(op: graph.ConvOp, values: ImageForms) -> bool:
    """Whether rows leave more lanes idle than filters that fill their last block by little."""
    is_dense = isinstance(op.w.owner, graph.ConstantOp) and op.groups.value.data == 1
    if values.block == 1 or not values.wanted.takes(op.result) or not is_dense or is_pointwise(op):
        return False
    return _blocks_cost(op, values.block) < _rows_cost(op, values.block)


def reads_plain(op: graph.ConvOp, values: ImageForms) -> bool:
    """
    Whether a convolution takes a plain image as it is: one element at a time, for a vector of filters.

    That is as fast as from blocks, which pay when they are there, or where Winograd takes 3x3 windows. Steps
    past pixels would convert many for nothing, and channels may not fill blocks (1x1 of 513 at 40x40, stride
    2: 2.4 x, 3x3 of 39 at 133x32, stride 2: 1.2 x). Filters of few vectors read an image more often, and
    blocks lie closer together (1x1 of 256 at 56x56, stride 2, with 8 lanes: 0.9 x).
    """
    filters = dims_of(op.w.type)
    if values.is_computed(op.x) or isinstance(op.x.owner, graph.TransposeOp):
        return values.block > filters[1].value and not values.is_computed(op.x)
    if op.groups.value.data > 1 or filters[1].value < values.block:
        return True
    if values.block > _SMALL_VECTOR and _passes_over_pixels(op):
        return True
    return filters[1].value % values.block != 0 and not _is_for_winograd(op, values)


def _passes_over_pixels(op: graph.ConvOp) -> bool:
    """Whether steps from window to window leave pixels out."""
    points = (dim.value for dim in dims_of(op.w.type)[2:])
    return any(step > n for step, n in zip(op.strides.get_values(), points, strict=True))


def is_pointwise(op: graph.ConvOp) -> bool:
    """Whether a convolution is a matrix product in any layout: NCHW runs at 92 to 97 % of the peak too."""
    points = parse_layout(op.kernel_layout.data).logical(dims_of(op.w.type))
    sizes = [points[letter] for letter in parse_layout(op.kernel_layout.data).spatial]
    return all(n == 1 for n in (*sizes, *op.strides.get_values(), op.groups.value.data)) and not any(
        op.pads.get_values()
    )


def _wastes_lanes(op: graph.ConvOp, lanes: int) -> bool:
    """Whether the last vector of pixels has so few that it is worth converting to blocks (7x7, 1x1)."""
    pixels = prod(dim.value if dim.is_static else lanes for dim in dims_of(op.result.type)[2:])
    wasted = _vectors(pixels, lanes) * lanes / pixels - 1
    filters, channels = (dim.value for dim in dims_of(op.w.type)[:2])
    is_worth_it = wasted * filters * channels > _CONVERSION_STEPS * (filters + channels)
    return wasted > _MOST_WASTE and is_worth_it


def _is_wide(op: graph.ConvOp, values: ImageForms) -> bool:
    """Whether rows of results fill a vector."""
    width = dims_of(op.result.type)[-1]
    return width.is_static and width.value >= values.block


def _rows_cost(op: graph.ConvOp, lanes: int) -> float:
    """Instructions for each vector of results, with lanes along rows: idle ones, and steps over pixels."""
    stride, width = op.strides.get_values()[-1], dims_of(op.result.type)[-1]
    idle = _vectors(width.value, lanes) * lanes / width.value if width.is_static else 1
    return idle * (1 if stride == 1 else _SHUFFLING if stride <= _SHUFFLED_STRIDE else _GATHERING)


def _blocks_cost(op: graph.ConvOp, lanes: int) -> float:
    """The same with lanes along filters: idle ones, and converting the result."""
    filters = [dim.value for dim in dims_of(op.w.type)]
    return ceil(filters[0] / lanes) * lanes / filters[0] + _RESULT_STEPS / prod(filters[1:])


def _vectors(elements: int, lanes: int) -> float:
    """
    The vectors that elements fill: one of half the width takes half the time, a shorter one no less.

    Of registers of 32 bytes or less, half of one takes as long as all of it.
    """
    if lanes <= _SMALL_VECTOR:
        return ceil(elements / lanes)
    return elements // lanes + ceil(2 * (elements % lanes) / lanes) / 2


def _is_for_winograd(op: graph.ConvOp, values: ImageForms) -> bool:
    """Whether `winograd-conv` may take a convolution, in blocks."""
    points = [dim.value for dim in dims_of(op.w.type)[2:]]
    steps = {*op.strides.get_values(), *op.dilations.get_values(), op.groups.value.data}
    return values.wanted.winograd and points == [_WINOGRAD_POINTS] * 2 and steps == {1}


def _is_moved(op: graph.ConvOp) -> bool:
    """Whether a transpose makes the image or takes the result: one move does that and makes blocks."""
    around = [op.x.owner, *(use.operation for use in op.result.uses)]
    return any(isinstance(neighbour, graph.TransposeOp) for neighbour in around)
