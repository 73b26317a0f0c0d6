"""Strategies to compute convolutions: conditions and estimated cycles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil, prod

from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.costs.machine import vectors_of, weight_cycles
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.plugins.strategies import Situation, Strategy
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMapLayout, FeatureMaps
from stepwell.passes.graph.layout.layout_costs import blocks_cost, is_pointwise, rows_cost
from stepwell.passes.graph.layout.winograd_windows import not_for_winograd, rounds_too_much
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import F32_BYTES
from stepwell.runtime.winograd import FILTER, TILES

_CONV = graph.ConvOp.name


def maps_of(situation: Situation) -> FeatureMaps:
    """Feature maps in blocks, to ask for what fits."""
    return FeatureMaps(FeatureMapLayout(situation.lanes, winograd=situation.winograd), WeightStore())


def is_in_blocks(name: str) -> bool:
    """Whether a strategy computes on blocked feature maps."""
    return name == "blocks" or name.startswith("winograd")


def chosen(op: Operation) -> str:
    """The strategy by which an op is computed after the passes of layouts; empty for no convolution."""
    if isinstance(op, graph.WinogradConvOp):
        return f"winograd{op.tile.value.data}"
    if not isinstance(op, graph.ConvOp):
        return ""
    if any(letter.isdigit() for letter in op.kernel_layout.data):
        return "blocks"
    return "product" if is_pointwise(op) else "rows"


def rounded_input(op: graph.ConvOp) -> SSAValue | None:
    """The tensor of bf16 that a convolution reads in f32; None if its input was not rounded."""
    return _rounded(op.x)


def _rounded(value: SSAValue) -> SSAValue | None:
    """The tensor of bf16 that a cast makes a value of; None for other values."""
    source = value.owner
    if not isinstance(source, graph.CastOp) or element_of_value(source.input) != bf16:
        return None
    return source.input


def unrounded(value: SSAValue) -> SSAValue | None:
    """The tensor of f32 that was rounded to bf16 and back; None for a value that was not."""
    rounded = _rounded(value)
    rounding = None if rounded is None else rounded.owner
    if not isinstance(rounding, graph.CastOp):
        return None
    is_f32 = element_of_value(value) == element_of_value(rounding.input) == f32
    return rounding.input if is_f32 else None


def direct_cycles(op_steps: float, weight_bytes: int, situation: Situation) -> float:
    """The cycles of multiply-adds in a direct convolution, with the time to read its weights."""
    computing = op_steps / situation.lanes / WINOGRAD.direct_share
    return computing + weight_cycles(weight_bytes, situation.target)


def winograd_cycles(
    tile: int, channels: Sequence[int], pixels: Sequence[int], situation: Situation, parts: int = 1
) -> float:
    """
    The cycles of a Winograd convolution, of (input, output) channels and (height, width) of results.

    An instruction adds `parts` products.
    """
    (c, o), (height, width) = channels, pixels
    points, tiles = (tile + FILTER - 1) ** 2, ceil(height / tile) * ceil(width / tile)
    input_steps, result_steps = WINOGRAD.transform_steps(tile)
    return (
        points * c * o * tiles / parts / situation.lanes / WINOGRAD.product_share
        + tiles * (input_steps * c + result_steps * o) / situation.lanes
        + weight_cycles(points * c * o * F32_BYTES // parts, situation.target)
    )


def _sizes(op: graph.ConvOp) -> tuple[list[int], list[int], list[int]]:
    """The (output, input) channels of a group's filters, their points, and the pixels of a result."""
    filters = [dim.value for dim in dims_of(op.w.type)]
    pixels = [dim.value if dim.is_static else WINOGRAD.open_size for dim in dims_of(op.result.type)[2:]]
    return filters[:2], filters[2:], pixels


def _direct(op: graph.ConvOp, situation: Situation) -> float:
    (outputs, inputs), points, pixels = _sizes(op)
    elements = outputs * inputs * prod(points)
    return direct_cycles(elements * prod(pixels), elements * F32_BYTES, situation)


def _blocks(op: graph.ConvOp, situation: Situation) -> float:
    return _direct(op, situation) * blocks_cost(op, situation.lanes)


def _rows(op: graph.ConvOp, situation: Situation) -> float:
    return _direct(op, situation) * rows_cost(op, situation.lanes)


def _product(op: graph.ConvOp, situation: Situation) -> float:
    pixels, lanes = prod(_sizes(op)[2]), situation.lanes
    return _direct(op, situation) * vectors_of(pixels, lanes) * lanes / pixels


def _winograd(tile: int, op: graph.ConvOp, situation: Situation) -> float:
    (outputs, inputs), _, pixels = _sizes(op)
    return winograd_cycles(tile, (inputs, outputs), pixels, situation)


def _not_in_blocks(op: graph.ConvOp, situation: Situation) -> str | None:
    lanes, maps = situation.lanes, maps_of(situation)
    (outputs, inputs), groups = _sizes(op)[0], op.groups.value.data
    if lanes == 1:
        return "the target has no vectors"
    if not isinstance(op.w.owner, graph.ConstantOp):
        return "its filters are computed by the model"
    if not maps.takes_filters(op) or not maps.wanted.supports(op.result):
        return "its type or layout has no blocks"
    if groups > 1 and inputs > 1 and outputs // groups % lanes:
        return f"{outputs // groups} filters of a group do not fill blocks of {lanes}"
    if not maps.fits(op.result):
        return f"{outputs} channels do not fill blocks of {lanes}"
    return None


def _not_by_winograd(tile: int, op: graph.ConvOp, situation: Situation) -> str | None:
    if (reason := not_for_winograd(op) or rounds_too_much(op, tile)) is not None:
        return reason
    if not situation.winograd:
        return "winograd is off"
    return _not_in_blocks(op, situation)


def _not_rows(op: graph.ConvOp, situation: Situation) -> str | None:
    return "1x1 without strides: a product" if is_pointwise(op) else None


def _no_product(op: graph.ConvOp, situation: Situation) -> str | None:
    return None if is_pointwise(op) else "not 1x1 without strides, in one group"


STRATEGIES: Sequence[Strategy] = (
    Strategy(_CONV, "product", _no_product, _product),
    Strategy(_CONV, "rows", _not_rows, _rows),
    Strategy(_CONV, "blocks", _not_in_blocks, _blocks),
    *(
        Strategy(_CONV, f"winograd{tile}", partial(_not_by_winograd, tile), partial(_winograd, tile))
        for tile in TILES
    ),
)
"""The strategies from which the passes of layouts choose, for the registry of `passes/analysis`."""
