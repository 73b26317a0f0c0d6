"""`winograd-conv`: 3x3 convolutions by Winograd's algorithm, where it is faster and its weights find room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of, weights_of
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import WeightAttr, dims_of, dtype_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import remark
from stepwell.passes.graph.layout.pack_weights import panel_width
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.machine.target import F32_BYTES
from stepwell.runtime.winograd import FILTER, TILES, transform_filters

_MODES = ("auto", "fast")
# Longer sums err more: 4.2e-6 of the output's range at 512 channels with tiles of 4; the bound is 1e-5.
_MAX_CHANNELS = {2: 8192, 4: 2048}
# Vector operations a tile and vector of channels: (reads, transform and writes of the input, of the results).
_TRANSFORM_STEPS = {2: (64, 44), 4: (216, 152)}
# Of the peak, and bytes a cycle from beyond L2, as measured on kernels of ResNet-50's shapes.
_DIRECT_SHARE, _PRODUCT_SHARE, _BYTES_A_CYCLE = 0.95, 0.8, 8
_WORTH = 0.85
"""Of the direct time: less must be left to pay for the larger weights."""
_OPEN_SIZE = 32
"""What rows and columns of open number are taken to be."""
_FEWEST_BYTES = 1 << 20
"""Room for transformed weights that every model has."""


@dataclass(frozen=True)
class WinogradConvPass(FunctionPass):
    """
    Rewrite 3x3 convolutions of stride 1 on blocked channels with constant filters, transforming these now.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
      data_layout "NCHW16c" kernel_layout "OIHW16i16o"
      : (tensor<1x4x56x56x16xf32>, tensor<4x4x3x3x16x16xf32>) -> tensor<1x4x56x56x16xf32>
    // ->
    %y = graph.winograd_conv %x, %u tile 4 pads [1, 1, 1, 1]
      : (tensor<1x4x56x56x16xf32>, tensor<36x2x64x32xf32>) -> tensor<1x4x56x56x16xf32>
    ```
    Tiles of 4 take 2.25 products a result instead of 9, and weights four times as large; tiles of 2 take 4,
    and weights 1.8 times as large. An estimate of both times decides; all transformed weights together take
    no more bytes than the function's weights did, those that win most a byte first.

    Class: rounding; errors stay below 1e-5 of the output's range. Runs after `convert-layout`.
    Source: Lavin & Gray 2015, "Fast Algorithms for Convolutional Neural Networks".
    """

    name = "winograd-conv"
    numerics = Numerics.ROUNDING
    opt_level = 2

    mode: str = "auto"
    """`auto`, or `fast`: whatever the weights take."""
    lanes: int = 16
    """Elements of a vector register."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.mode not in _MODES:
            raise StepwellError(
                "bad-option", None, f"winograd-conv takes mode {' or '.join(_MODES)}, found {self.mode!r}"
            )
        l2_bytes, weights = target_of(ctx).l2_bytes, weights_of(ctx)
        convolutions = [op for op in func.walk() if isinstance(op, graph.ConvOp) and is_eligible(op)]
        plans = [_plans(op, self.lanes, l2_bytes) for op in convolutions]
        room = None if self.mode == "fast" else max(_FEWEST_BYTES, _constant_bytes(func))
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        for plan in _within(plans, room):
            _rewrite(plan, weights, self.lanes, made)


def is_eligible(op: graph.ConvOp) -> bool:
    """Whether the algorithm fits: 3x3, stride 1, one group, blocked channels of known number, f32."""
    if op.strides.get_values() != (1, 1) or op.dilations.get_values() != (1, 1) or op.groups.value.data != 1:
        return False
    data, kernel = parse_layout(op.data_layout.data), parse_layout(op.kernel_layout.data)
    block = data.block("C")
    blocked = str(data) == f"NCHW{block}c" and str(kernel) == f"OIHW{block}i{block}o" and block > 1
    filters = kernel.logical(dims_of(op.w.type))
    return (
        blocked
        and op.output_layout == data
        and isinstance(op.w.owner, graph.ConstantOp)
        and element_of_value(op.x) == f32
        and filters["H"] == filters["W"] == FILTER
        and dims_of(op.x.type)[1].is_static
    )


@dataclass(frozen=True)
class _Plan:
    """A convolution that would win by a tile."""

    op: graph.ConvOp
    tile: int
    saved: float
    """Cycles of an image."""
    bytes: int
    """That the weights grow by."""


def _plans(op: graph.ConvOp, per_cycle: int, l2_bytes: int) -> list[_Plan]:
    """The tiles that win enough, the best first; a core multiplies and adds `per_cycle` elements a cycle."""
    _, blocks, _, _, lanes = (dim.value if dim.is_static else 1 for dim in dims_of(op.x.type))
    _, out_blocks, height, width, _ = (
        dim.value if dim.is_static else _OPEN_SIZE for dim in dims_of(op.result.type)
    )
    c, o = blocks * lanes, out_blocks * lanes
    direct_bytes = FILTER**2 * c * o * F32_BYTES
    direct = FILTER**2 * c * o * height * width / per_cycle / _DIRECT_SHARE + _stream(direct_bytes, l2_bytes)
    plans: list[_Plan] = []
    for tile in TILES:
        points, tiles = (tile + FILTER - 1) ** 2, ceil(height / tile) * ceil(width / tile)
        steps = _TRANSFORM_STEPS[tile]
        bytes = points * c * o * F32_BYTES
        cycles = (
            points * c * o * tiles / per_cycle / _PRODUCT_SHARE
            + tiles * (steps[0] * c + steps[1] * o) / per_cycle
            + _stream(bytes, l2_bytes)
        )
        if c <= _MAX_CHANNELS[tile] and cycles < _WORTH * direct:
            plans.append(_Plan(op, tile, direct - cycles, bytes - direct_bytes))
    return sorted(plans, key=lambda plan: -plan.saved)


def _stream(bytes: int, l2_bytes: int) -> float:
    """Cycles to read weights that do not stay in L2."""
    return bytes / _BYTES_A_CYCLE if bytes > l2_bytes // 2 else 0


def _constant_bytes(func: FuncOp) -> int:
    """What the weights of a function take; each once."""
    used = {
        op.value: op.result for op in func.walk() if isinstance(op, graph.ConstantOp) and op.result.first_use
    }
    return sum(
        prod(dim.value for dim in dims_of(value.type)) * dtype_of(element_of_value(value)).itemsize
        for value in used.values()
    )


def _within(plans: Iterable[Sequence[_Plan]], room: int | None) -> Iterable[_Plan]:
    """For each convolution the best plan that finds room; first choice to those that win most a byte."""
    choices = [options for options in plans if options]
    for options in sorted(choices, key=lambda options: -options[0].saved / max(1, options[0].bytes)):
        for plan in options:
            if room is None or plan.bytes <= room:
                room = None if room is None else room - plan.bytes
                yield plan
                break
        else:
            remark(options[0].op, "direct: transformed weights would find no room")


def _rewrite(
    plan: _Plan, weights: WeightStore, lanes: int, made: dict[tuple[SSAValue, int], SSAValue]
) -> None:
    op = plan.op
    if (op.w, plan.tile) not in made:
        made[op.w, plan.tile] = _transformed(op, plan.tile, weights, lanes)
    product = graph.WinogradConvOp(op.x, made[op.w, plan.tile], tile=plan.tile, pads=op.pads.get_values())
    adopt_location(product, op.location)
    Rewriter.replace_op(op, product)


def _transformed(op: graph.ConvOp, tile: int, weights: WeightStore, lanes: int) -> SSAValue:
    """The filters as [points, panels, C, panel], a constant next to the old one."""
    constant = op.w.owner
    assert isinstance(constant, graph.ConstantOp)
    blocked = cast("npt.NDArray[np.float32]", constant_array(constant, weights))
    w = to_layout(blocked, parse_layout(op.kernel_layout.data), parse_layout("OIHW"))
    u = transform_filters(cast("npt.NDArray[np.float32]", w), tile).astype(np.float32)
    points, o, c = u.shape
    panel = panel_width(o, lanes)
    packed = u.reshape(points, o // panel, panel, c).transpose(0, 1, 3, 2)
    name = constant.value.weight_name.data if isinstance(constant.value, WeightAttr) else ""
    result = graph.ConstantOp.of(np.ascontiguousarray(packed), weights, f"{name}:winograd{tile}")
    adopt_location(result, constant.location)
    Rewriter.insert_op(result, InsertPoint.after(constant))
    return result.result
