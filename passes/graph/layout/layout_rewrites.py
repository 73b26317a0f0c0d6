"""
Rewrites of ops to feature maps in another layout, for `convert-layout` and the passes like it.

Each inserts the op on stored feature maps and records its result; False means that the op stays plain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.quantized import ScaledOp
from stepwell.dialects.graph_ir.annotations import STRATEGY
from stepwell.dialects.types import dims_of
from stepwell.passes.analysis.strategies import forced
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.passes.graph.layout.layout_costs import is_pointwise, reads_plain, rows_are_short, runs_plain
from stepwell.passes.graph.layout.strategies import is_in_blocks
from stepwell.runtime.dims import Dim

# Ops whose results are finite for finite operands: the channels that fill the last block may go through them,
# since the filters that read them are 0 there.
_FINITE = (
    graph.AbsOp,
    graph.AddOp,
    graph.ClipOp,
    graph.EluOp,
    graph.GeluOp,
    graph.LeakyReluOp,
    graph.MaximumOp,
    graph.MinimumOp,
    graph.MultiplyOp,
    graph.NegOp,
    graph.ReluOp,
    graph.SigmoidOp,
    graph.SiluOp,
    graph.SoftplusOp,
    graph.SubtractOp,
    graph.TanhOp,
)


# Ops that are computed in any layout.
_AGNOSTIC = (UnaryOp, BinaryOp, graph.BiasAddOp, graph.ClipOp, graph.WhereOp)
# The most values to visit; a network with more elementwise ops is assumed to profit from blocks.
_FAR = 32


def conv(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Convert a plain convolution; to blocks, if it has constant filters and enough channels."""
    if op.data_layout.data != values.plain_layout(op.result) or op.out_layout is not None:
        return False
    if not values.takes_filters(op):
        return False
    if not values.fits(op.result) and not rows_are_short(op, values):
        return False
    return _conv_in_blocks(op, values) if values.block > 1 else _conv_in_order(op, values)


def _conv_in_order(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Convert a convolution to feature maps and filters with their axes in another order."""
    kernel = values.kernel_layout(op)
    made = graph.ConvOp(
        values.stored(op.x, op),
        values.transformed(values.plain(op.w, op), op.kernel_layout.data, kernel, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        groups=op.groups.value.data,
        data_layout=str(values.layout(op.x)),
        kernel_layout=kernel,
    )
    values.define(op.result, values.insert(made, op))
    return True


def _conv_in_blocks(op: graph.ConvOp, values: FeatureMaps) -> bool:
    """Convert a convolution to blocks, unless groups do not fill them or the plain one is faster."""
    if not isinstance(op.w.owner, graph.ConstantOp):
        return False
    wanted = forced(op)
    if wanted and not is_in_blocks(wanted):
        return False
    if (
        not wanted
        and runs_plain(op, values)
        and not values.is_computed(op.x)
        and not _reaches_windows(op.result, values)
    ):
        return False
    groups, block = op.groups.value.data, values.block
    width, depth = (dim.value for dim in dims_of(op.w.type)[:2])
    depthwise = groups > 1 and depth == 1 and width == groups
    grouped = groups > 1 and not depthwise
    if grouped and width // groups % block:
        return False
    plain = not depthwise and (
        grouped and depth % block != 0 or (not wanted.startswith("winograd") and reads_plain(op, values))
    )
    if not plain and not values.fits(op.x):
        return False
    oi = op.kernel_layout.data
    kernel = f"{oi}{block}o" if plain or depthwise else f"{oi}{block}i{block}o"
    layout = str(values.layout(op.result))
    made = graph.ConvOp(
        values.plain(op.x, op) if plain else values.stored(op.x, op),
        values.transformed(op.w, oi, kernel, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        groups=values.padded_channels(groups) if depthwise else groups,
        data_layout=op.data_layout.data if plain else layout,
        kernel_layout=kernel,
        out_layout=layout,
    )
    if wanted:
        made.attributes[STRATEGY] = op.attributes[STRATEGY]
    values.define(op.result, values.insert(made, op))
    return True


def _reaches_windows(value: SSAValue, values: FeatureMaps) -> bool:
    """Whether a window op or a blocked value uses a value, through elementwise ops and 1x1 convolutions."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < _FAR:
        for use in waiting.pop().uses:
            user = use.operation
            if any(values.is_computed(x) for x in user.operands):
                return True
            if isinstance(user, graph.ConvOp) and is_pointwise(user) or isinstance(user, _AGNOSTIC):
                waiting += [result for result in user.results if result not in seen]
                seen |= {*user.results}
            elif isinstance(user, graph.ConvOp | graph.PoolOp | graph.ResizeOp | graph.ConcatOp):
                return True
    return len(seen) >= _FAR


def bias_add(op: graph.BiasAddOp, values: FeatureMaps) -> bool:
    """Convert `bias_add` per channel, with the bias blocked like the channels."""
    if not values.is_computed(op.x) or op.axis.value.data != values.channel_axis(op.x):
        return False
    bias = values.transformed(
        values.plain(op.b, op), "C", f"C{values.block}c" if values.block > 1 else "C", op
    )
    made = graph.BiasAddOp(values.stored(op.x, op), bias, values.stored_axis(op.axis.value.data, op.x))
    values.define(op.result, values.insert(made, op))
    return True


def scaled(op: ScaledOp, values: FeatureMaps) -> bool:
    """Convert a (re)quantize or dequantize with one scale, or one a channel in layouts without blocks."""
    by_axis = bool(dims_of(op.scale.type))
    if not values.is_computed(op.input) or op.block_size or values.block > 1:
        return False
    if by_axis and op.axis.value.data != values.channel_axis(op.input):
        return False
    operands = [values.stored(op.input, op), *(values.plain(x, op) for x in op.operands[1:])]
    axis = values.stored_axis(op.axis.value.data, op.input) if by_axis else op.axis.value.data
    values.define(op.result, values.insert(op.on(operands, axis=IntegerAttr(axis, i64)), op))
    return True


def pool(op: graph.PoolOp, values: FeatureMaps) -> bool:
    """Convert a pool; each window is reduced for whole blocks of channels."""
    if not values.is_computed(op.x) or op.indices.data != "none":
        return False
    if op.data_layout.data != values.plain_layout(op.x):
        return False
    made = graph.PoolOp(
        values.stored(op.x, op),
        op.kind.data,
        op.kernel.get_values(),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        ceil=bool(op.ceil.value.data),
        count_include_pad=bool(op.count_include_pad.value.data),
        p=op.p.value.data,
        data_layout=str(values.layout(op.x)),
    )
    values.define(op.outputs[0], values.insert(made, op))
    return True


def reduce(op: graph.ReduceOp, values: FeatureMaps) -> bool:
    """Convert a reduction over spatial axes; without `keep_dims` the result is plain, by a reshape."""
    axes, keep = list(op.axes.get_values()), bool(op.keep_dims.value.data)
    if not values.is_computed(op.input):
        return False
    pixels = values.pixel_axes(op.input)
    if not axes or not {*axes} <= {*pixels}:
        return False
    if not keep and axes != pixels:
        return False
    x = values.stored(op.input, op)
    stored_axes = sorted(values.stored_axis(axis, op.input) for axis in axes)
    result = values.insert(graph.ReduceOp(x, op.kind.data, stored_axes, keep_dims=keep), op)
    if keep:
        values.define(op.result, result)
        return True
    dims = dims_of(op.result.type)
    order = values.layout(op.input).letters
    if order.index("C") < order.index("N"):
        result = values.insert(graph.TransposeOp(result, [1, 0]), op)
    if values.block > 1:
        result = values.insert(graph.ReshapeOp(result, values.padded(dims)), op)
    values.define_plain(op.result, values.cut(result, dims, op))
    return True


def concat(op: graph.ConcatOp, values: FeatureMaps) -> bool:
    """Convert a concat along the channels, if all blocks are full, or along another axis."""
    inputs = list(op.inputs)
    if not any(values.is_computed(x) for x in inputs) or not all(values.fits(x) for x in inputs):
        return False
    axis = op.axis.value.data
    if axis == values.channel_axis(op.result) and any(values.is_padded(x) for x in inputs):
        return False
    made = graph.ConcatOp([values.stored(x, op) for x in inputs], values.stored_axis(axis, op.result))
    values.define(op.result, values.insert(made, op))
    return True


def pad(op: graph.PadOp, values: FeatureMaps) -> bool:
    """Convert a pad of spatial axes."""
    if not values.is_computed(op.input) or op.pads is None:
        return False
    pads, rank = op.pads.get(), len(dims_of(op.input.type))
    others = (0, values.channel_axis(op.input))
    if any(pads[i] != 0 or pads[rank + i] != 0 for i in others):
        return False
    begins, ends = (values.arranged(half, op.input, lambda: Dim.of(0)) for half in (pads[:rank], pads[rank:]))
    fill = None if op.value is None else values.plain(op.value, op)
    made = graph.PadOp(values.stored(op.input, op), [*begins, *ends], op.mode.data, fill)
    values.define(op.result, values.insert(made, op))
    return True


def transpose(op: graph.TransposeOp, values: FeatureMaps) -> bool:
    """Replace a transpose of a stored feature map by one layout transform from there to plain axes."""
    if not values.is_computed(op.input):
        return False
    letters = values.plain_layout(op.input)
    target = "".join(letters[i] for i in op.perm.get_values())
    moved = values.transformed(values.stored(op.input, op), str(values.layout(op.input)), target, op)
    values.define_plain(op.result, values.cut(moved, dims_of(op.result.type), op))
    return True


def resize(op: graph.ResizeOp, values: FeatureMaps) -> bool:
    """Convert a resize of spatial axes."""
    dims = dims_of(op.input.type)
    if not values.is_computed(op.input) or op.shape is None or op.roi is not None:
        return False
    shape = op.shape.get()
    scales = op.scales.get_values() if op.scales is not None else [1.0] * len(dims)
    others = (0, values.channel_axis(op.input))
    if any(shape[i] != dims[i] or scales[i] != 1 for i in others):
        return False
    x = values.stored(op.input, op)
    made = graph.ResizeOp(
        x,
        _stored_shape(shape, op.input, values),
        None if op.scales is None else values.arranged(scales, op.input, lambda: 1.0),
        mode=op.mode.data,
        coordinate=op.coordinate.data,
        nearest=op.nearest.data,
        cubic_a=op.cubic_a.value.data,
        antialias=op.antialias is not None,
        exclude_outside=op.exclude_outside is not None,
        extrapolation=op.extrapolation.value.data,
    )
    values.define(op.result, values.insert(made, op))
    return True


def _stored_shape(dims: Sequence[Dim], value: SSAValue, values: FeatureMaps) -> list[Dim]:
    """The stored shape of a feature map with plain dimensions `dims`, in the layout of `value`."""
    return values.layout(value).physical(dict(zip(values.plain_layout(value), dims, strict=True)))


def elementwise(op: GraphOp, values: FeatureMaps) -> bool:
    """Convert an elementwise op, if one operand is stored in the layout and the others can be at no cost."""
    if not isinstance(op, (UnaryOp, BinaryOp, graph.WhereOp, graph.ClipOp)):
        return False
    result = op.results[0]
    images = [x for x in op.operands if values.is_computed(x)]
    if not images and _meets_stored(result, values):
        images = [x for x in op.operands if isinstance(x.owner, graph.TransposeOp) and values.fits(x)]
    if not images or not _same_channels(result, images[0], values):
        return False
    if values.is_padded(images[0]) and not _stays_finite(op):
        return False
    ways = [_operand(x, result, values, op) for x in op.operands]
    if any(way is None for way in ways):
        return False
    operands = [way() for way in ways if way is not None]
    values.define(result, values.insert(op.on(operands), op))
    return True


def _meets_stored(value: SSAValue, values: FeatureMaps) -> bool:
    """Whether a user of a value also reads a value of as many channels that is computed in the layout."""
    users = [use.operation for use in value.uses]
    return any(
        values.is_computed(x) and _same_channels(x, value, values) for user in users for x in user.operands
    )


def _same_channels(a: SSAValue, b: SSAValue, values: FeatureMaps) -> bool:
    is_alike = len(dims_of(a.type)) == len(dims_of(b.type))
    return is_alike and values.channels(a) == values.channels(b)


def _stays_finite(op: GraphOp) -> bool:
    if isinstance(op, graph.DivideOp):
        return all(dim == 1 for dim in dims_of(op.rhs.type)) and isinstance(op.rhs.owner, graph.ConstantOp)
    return isinstance(op, _FINITE)


def _operand(
    value: SSAValue, result: SSAValue, values: FeatureMaps, before: GraphOp
) -> Callable[[], SSAValue] | None:
    """A function that makes an operand that broadcasts to a stored result; None if that would be costly."""
    dims, channels, rank = dims_of(value.type), values.channels(result), len(dims_of(result.type))
    if all(dim == 1 for dim in dims) and not values.is_computed(value):
        return lambda: values.plain(value, before)
    is_map = len(dims) == rank
    if is_map and (values.is_computed(value) or (values.channels(value) == channels and values.fits(value))):
        return lambda: values.stored(value, before)
    if is_map and values.channels(value) == 1:
        if values.block == 1:
            return lambda: values.stored(value, before)
        return lambda: values.insert(graph.ExpandDimsOp(values.plain(value, before), [rank]), before)
    if values.has_channels_last and len(dims) < rank and isinstance(value.owner, graph.ConstantOp):
        return lambda: values.broadcast_from(value, result, before)
    layouts = values.plain_layout(result)[1:], str(values.layout(result)).replace("N", "")
    if len(dims) == rank - 1 and dims[0] == channels and isinstance(value.owner, graph.ConstantOp):
        if values.layout(result).letters[0] == "N":
            return lambda: values.transformed(value, *layouts, before)
    return None


Rewrites: TypeAlias = Mapping[type[GraphOp], Callable[[Any, FeatureMaps], bool]]
"""Rewrites by op class: each inserts the op on stored feature maps and returns True, or leaves it."""

LAYOUT_REWRITES: Rewrites = {
    graph.BiasAddOp: bias_add,
    graph.ConcatOp: concat,
    graph.DequantizeOp: scaled,
    graph.PadOp: pad,
    graph.PoolOp: pool,
    graph.QuantizeOp: scaled,
    graph.ReduceOp: reduce,
    graph.RequantizeOp: scaled,
    graph.ResizeOp: resize,
    graph.TransposeOp: transpose,
}
"""Rewrites of ops that preserve the layout of their operands; all other classes have `elementwise`."""
