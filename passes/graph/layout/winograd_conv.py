"""`winograd-conv`: 3x3 convolutions by Winograd's algorithm, where it is faster and weights stay small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of, weights_of
from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.plugins.strategies import Situation
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.passes.analysis.strategies import forced
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count, remark
from stepwell.passes.graph.layout.pack_bfloats import paired
from stepwell.passes.graph.layout.pack_weights import panel_width
from stepwell.passes.graph.layout.strategies import direct_cycles, rounded_input, unrounded, winograd_cycles
from stepwell.passes.graph.layout.winograd_windows import not_for_winograd, rounds_too_much
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import Layout, parse_layout, to_layout
from stepwell.runtime.machine.target import F32_BYTES
from stepwell.runtime.meaning import Array
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.winograd import FILTER, TILES, transform_filters

_Transform: TypeAlias = Callable[[Array], Array]
_MODES = ("auto", "fast")
_CHANNELS_AT_ONCE = 512  # 36 x 9 x 809 is the largest product that OpenBLAS computes on one thread
_TILE_OF_PAIRS = 2  # of larger tiles the transforms magnify the rounding to bf16 too much
_FEWEST_BYTES = 1 << 20
"""The bytes of transformed weights that every model may have."""


@dataclass(frozen=True)
class WinogradConvPass(FunctionPass):
    """
    Replace blocked 3x3 convolutions of stride 1 by Winograd convolutions, with filters transformed now.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
      data_layout "NCHW16c" kernel_layout "OIHW16i16o"
      : (tensor<1x4x56x56x16xf32>, tensor<4x4x3x3x16x16xf32>) -> tensor<1x4x56x56x16xf32>
    // ->
    %y = graph.winograd_conv %x, %u tile 4 pads [1, 1, 1, 1]
      : (tensor<1x4x56x56x16xf32>, tensor<36x2x64x32xf32>) -> tensor<1x4x56x56x16xf32>
    ```
    Tiles of 4 need 2.25 products a result instead of 9, and weights four times as large; tiles of 2 need 4,
    and weights 1.8 times as large. An estimate of both times decides. All transformed weights together may
    add no more bytes than the function's weights have; convolutions that save most time a byte come first.

    Where operands are rounded to bf16 and an instruction adds two products of these, transformed tiles of 2
    are rounded instead, and multiplied in pairs of channels: `u` is then `tensor<16x2x32x32xi32>`. The error
    is 1.5 times that of direct products by pairs; with tiles of 4 it would be 5 times, so these stay f32.

    Class: rounding; errors stay below 1e-5 of the output's range, of f32. Runs after `convert-layout`.
    Source: Lavin & Gray 2015, "Fast Algorithms for Convolutional Neural Networks".
    """

    name = "winograd-conv"
    numerics = Numerics.ROUNDING
    opt_level = 2

    mode: str = "auto"
    """`auto`, or `fast`: without a limit for the size of weights."""
    lanes: int = 16
    """The elements of a vector register."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.mode not in _MODES:
            raise StepwellError(
                "bad-option", None, f"winograd-conv takes mode {' or '.join(_MODES)}, found {self.mode!r}"
            )
        if self.lanes == 1:  # a target without vectors
            return
        target, weights = target_of(ctx), weights_of(ctx)
        convolutions = [op for op in func.walk() if isinstance(op, graph.ConvOp) and is_eligible(op)]
        plans = [_plans(op, Situation(target, self.lanes)) for op in convolutions]
        room = None if self.mode == "fast" else max(_FEWEST_BYTES, _constant_bytes(func))
        made: dict[tuple[SSAValue, int, bool], SSAValue] = {}
        for plan in _within(plans, room):
            _rewrite(plan, weights, self.lanes, made)
            count(f"convolutions of tile {plan.tile}")


def is_eligible(op: graph.ConvOp) -> bool:
    """Whether Winograd's algorithm applies: feature maps in blocks, with constant filters."""
    data, kernel = parse_layout(op.data_layout.data), parse_layout(op.kernel_layout.data)
    block = data.block("C")
    blocked = str(data) == f"NCHW{block}c" and str(kernel) == f"OIHW{block}i{block}o" and block > 1
    return (
        blocked
        and op.output_layout == data
        and isinstance(op.w.owner, graph.ConstantOp)
        and dims_of(op.x.type)[1].is_static
        and not_for_winograd(op) is None
    )


@dataclass(frozen=True)
class _Plan:
    """A convolution with a tile size that is faster than the direct one: time saved, and bytes added."""

    op: graph.ConvOp
    tile: int
    saved: float
    """Cycles saved for one feature map of the batch."""
    bytes: int
    """Bytes by which the weights grow."""
    pairs: bool
    """Whether products are those of pairs of bf16."""


def _plans(op: graph.ConvOp, situation: Situation) -> list[_Plan]:
    """The plans that are fast enough, best first; the one that a user has forced, if any."""
    _, blocks, _, _, block = (dim.value if dim.is_static else 1 for dim in dims_of(op.x.type))
    _, out_blocks, height, width, _ = (
        dim.value if dim.is_static else WINOGRAD.open_size for dim in dims_of(op.result.type)
    )
    c, o = blocks * block, out_blocks * block
    # A direct convolution of bf16 adds two products at once, of half the bytes.
    parts = 2 if situation.target.has_bfloat_products and rounded_input(op) is not None else 1
    direct_bytes = FILTER**2 * c * o * F32_BYTES // parts
    direct = direct_cycles(FILTER**2 * c * o * height * width / parts, direct_bytes, situation)
    plans: list[_Plan] = []
    for tile, own in [*((tile, 1) for tile in TILES), *([(_TILE_OF_PAIRS, 2)] if parts == 2 else [])]:
        bytes = (tile + FILTER - 1) ** 2 * c * o * F32_BYTES // own
        cycles = winograd_cycles(tile, (c, o), (height, width), situation, own)
        is_fast = rounds_too_much(op, tile) is None and cycles < WINOGRAD.worth * direct
        if forced(op) == f"winograd{tile}" or (not forced(op) and is_fast):
            plans.append(_Plan(op, tile, direct - cycles, bytes - direct_bytes, own == 2))
    return sorted(plans, key=lambda plan: -plan.saved)


def _constant_bytes(func: FuncOp) -> int:
    """The bytes of a function's used constants; equal ones count once."""
    used = {
        op.value: op.result for op in func.walk() if isinstance(op, graph.ConstantOp) and op.result.first_use
    }
    return sum(
        prod(dim.value for dim in dims_of(value.type)) * dtype_of(element_of_value(value)).itemsize
        for value in used.values()
    )


def _within(plans: Iterable[Sequence[_Plan]], room: int | None) -> Iterable[_Plan]:
    """The best plan of each convolution that fits in `room` bytes, greedily by cycles saved per byte."""
    choices = [options for options in plans if options]
    for options in sorted(choices, key=lambda options: -options[0].saved / max(1, options[0].bytes)):
        for plan in options:
            if room is None or plan.bytes <= room or forced(plan.op):
                room = None if room is None else room - plan.bytes
                yield plan
                break
        else:
            remark(options[0].op, "computed directly: there is no memory left for transformed weights")


def _rewrite(
    plan: _Plan, weights: WeightStore, lanes: int, made: dict[tuple[SSAValue, int, bool], SSAValue]
) -> None:
    op, key = plan.op, (plan.op.w, plan.tile, plan.pairs)
    if key not in made:
        made[key] = _transformed(plan, weights, lanes)
    # Transformed tiles are rounded instead of the input.
    x = unrounded(op.x) or op.x if plan.pairs else op.x
    product = graph.WinogradConvOp(x, made[key], tile=plan.tile, pads=op.pads.get_values())
    adopt_location(product, op.location)
    Rewriter.replace_op(op, product)


def _transformed(plan: _Plan, weights: WeightStore, lanes: int) -> SSAValue:
    """A new constant with the transformed filters [points, panels, C, panel] of a convolution."""
    op, tile, constant = plan.op, plan.tile, plan.op.w.owner
    assert isinstance(constant, graph.ConstantOp)
    layout = parse_layout(op.kernel_layout.data)
    filters = layout.logical(dims_of(op.w.type))
    panel = panel_width(filters["O"].value, lanes)
    points, panels, channels = (tile + FILTER - 1) ** 2, filters["O"] // panel, filters["I"]
    transform: _Transform = partial(_panels, layout, tile, panel)
    text, suffix, element = f"winograd{tile} {layout} {panel}", f"winograd{tile}", None
    if plan.pairs:
        transform, channels = partial(_pairs, transform), channels // 2
        text, suffix, element = f"{text} pairs", f"{suffix}pairs", i32
    shape = [points, panels, channels, panel]
    return IRBuilder.after(constant).value(
        constant.derived(suffix, transform, shape, weights, element=element, text=text)
    )


def _pairs(transform: _Transform, blocked: Array) -> Array:
    """Transformed filters as pairs of channels."""
    return paired(transform(blocked), 2)


def _panels(layout: Layout, tile: int, panel: int, blocked: Array) -> Array:
    """Filters in a blocked layout as transformed panels, in parts, as they are large in f64."""
    w = cast("npt.NDArray[np.float32]", to_layout(blocked, layout, parse_layout("OIHW")))
    shape = ((tile + FILTER - 1) ** 2, w.shape[0] // panel, w.shape[1], panel)
    made = aligned_empty(prod(shape) * F32_BYTES).view(np.float32).reshape(shape)
    for index, start in product(range(shape[1]), range(0, shape[2], _CHANNELS_AT_ONCE)):
        rows, channels = slice(index * panel, (index + 1) * panel), slice(start, start + _CHANNELS_AT_ONCE)
        made[:, index, channels] = transform_filters(w[rows, channels], tile).transpose(0, 2, 1)
    return made
