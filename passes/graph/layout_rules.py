"""
How each op is computed on blocked channels, for `convert-layout`.

A rule inserts the blocked op and says what it computes; False means that the op stays on plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.blocked_values import BlockedValues
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout

# Finite numbers in, finite numbers out: what fills the last block may go through them, since the filters that
# read it are 0 there.
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

# What is computed in any layout.
_AGNOSTIC = (UnaryOp, BinaryOp, graph.BiasAddOp, graph.ClipOp, graph.WhereOp)
# Values to look at, before a network is taken to be one that wants blocks.
_FAR = 32


def conv(op: graph.ConvOp, values: BlockedValues) -> bool:
    """A dense or depthwise convolution with constant filters and enough channels, not a lone 1x1 one."""
    oi = op.kernel_layout.data
    plain = op.data_layout.data == values.plain_layout(op.result) and op.out_layout is None
    if (
        not plain
        or oi != "OI" + op.data_layout.data[2:]
        or not isinstance(op.w.owner, graph.ConstantOp)
        or not values.fits(op.result)
    ):
        return False
    if _is_pointwise(op) and not values.is_computed(op.x) and not _reaches_windows(op.result, values):
        return False
    groups, block = op.groups.value.data, values.block
    width, depth = (dim.value for dim in dims_of(op.w.type)[:2])
    depthwise = groups > 1 and depth == 1 and width == groups
    if groups > 1 and not depthwise:
        return False
    few = not depthwise and depth < block and not values.is_computed(op.x)
    if not few and not values.fits(op.x):
        return False
    kernel = f"{oi}{block}o" if few or depthwise else f"{oi}{block}i{block}o"
    layout = values.blocked_layout(op.result)
    made = graph.ConvOp(
        values.plain(op.x, op) if few else values.blocked(op.x, op),
        values.transformed(op.w, oi, kernel, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        groups=values.padded_channels(groups) if depthwise else 1,
        data_layout=op.data_layout.data if few else layout,
        kernel_layout=kernel,
        out_layout=layout,
    )
    values.define(op.result, values.insert(made, op))
    return True


def _is_pointwise(op: graph.ConvOp) -> bool:
    """Whether a convolution is a matrix product in any layout: NCHW runs at 92 to 97 % of the peak too."""
    points = parse_layout(op.kernel_layout.data).logical(dims_of(op.w.type))
    sizes = [points[letter] for letter in parse_layout(op.kernel_layout.data).spatial]
    return all(n == 1 for n in (*sizes, *op.strides.get_values(), op.groups.value.data)) and not any(
        op.pads.get_values()
    )


def _reaches_windows(value: SSAValue, values: BlockedValues) -> bool:
    """Whether a value goes, through elementwise ops and products, into what wants blocks or has them."""
    waiting, seen = [value], {value}
    while waiting and len(seen) < _FAR:
        for use in waiting.pop().uses:
            user = use.operation
            if any(values.is_computed(x) for x in user.operands):
                return True
            if isinstance(user, graph.ConvOp) and _is_pointwise(user) or isinstance(user, _AGNOSTIC):
                waiting += [result for result in user.results if result not in seen]
                seen |= {*user.results}
            elif isinstance(user, graph.ConvOp | graph.PoolOp | graph.ResizeOp | graph.ConcatOp):
                return True
    return len(seen) >= _FAR


def bias_add(op: graph.BiasAddOp, values: BlockedValues) -> bool:
    """A bias per channel, blocked like the channels."""
    if not values.is_computed(op.x) or op.axis.value.data != 1:
        return False
    bias = values.transformed(op.b, "C", f"C{values.block}c", op)
    values.define(op.result, values.insert(graph.BiasAddOp(values.blocked(op.x, op), bias, 1), op))
    return True


def pool(op: graph.PoolOp, values: BlockedValues) -> bool:
    """A pool, window by window on whole blocks."""
    if not values.is_computed(op.x) or op.indices.data != "none":
        return False
    if op.data_layout.data != values.plain_layout(op.x):
        return False
    made = graph.PoolOp(
        values.blocked(op.x, op),
        op.kind.data,
        op.kernel.get_values(),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        ceil=bool(op.ceil.value.data),
        count_include_pad=bool(op.count_include_pad.value.data),
        p=op.p.value.data,
        data_layout=values.blocked_layout(op.x),
    )
    values.define(op.outputs[0], values.insert(made, op))
    return True


def reduce(op: graph.ReduceOp, values: BlockedValues) -> bool:
    """A reduction over pixels; without their dimensions the result is plain again, by a reshape."""
    axes, keep = list(op.axes.get_values()), bool(op.keep_dims.value.data)
    pixels = list(range(2, len(dims_of(op.input.type))))
    if not values.is_computed(op.input) or not axes or not {*axes} <= {*pixels}:
        return False
    if not keep and axes != pixels:
        return False
    x = values.blocked(op.input, op)
    result = values.insert(graph.ReduceOp(x, op.kind.data, axes, keep_dims=keep), op)
    if keep:
        values.define(op.result, result)
    else:
        dims = dims_of(op.result.type)
        whole = values.insert(graph.ReshapeOp(result, [dims[0], values.padded_channels(dims[1].value)]), op)
        values.define_plain(op.result, values.cut(whole, dims, op))
    return True


def concat(op: graph.ConcatOp, values: BlockedValues) -> bool:
    """A join of images whose blocks are all full, or along another axis than the channels."""
    inputs = list(op.inputs)
    if not any(values.is_computed(x) for x in inputs) or not all(values.fits(x) for x in inputs):
        return False
    axis = op.axis.value.data
    if axis == 1 and any(values.is_padded(x) for x in inputs):
        return False
    made = graph.ConcatOp([values.blocked(x, op) for x in inputs], axis)
    values.define(op.result, values.insert(made, op))
    return True


def pad(op: graph.PadOp, values: BlockedValues) -> bool:
    """Pixels around an image."""
    if not values.is_computed(op.input) or op.pads is None:
        return False
    pads, rank = op.pads.get(), len(dims_of(op.input.type))
    if any(pads[i] != 0 for i in (0, 1, rank, rank + 1)):
        return False
    zero = Dim.of(0)
    x = values.blocked(op.input, op)
    made = graph.PadOp(x, [*pads[:rank], zero, *pads[rank:], zero], op.mode.data, op.value)
    values.define(op.result, values.insert(made, op))
    return True


def transpose(op: graph.TransposeOp, values: BlockedValues) -> bool:
    """A blocked image straight to another order of its axes."""
    if not values.is_computed(op.input):
        return False
    letters = values.plain_layout(op.input)
    target = "".join(letters[i] for i in op.perm.get_values())
    moved = graph.LayoutTransformOp(values.blocked(op.input, op), values.blocked_layout(op.input), target)
    values.define_plain(op.result, values.cut(values.insert(moved, op), dims_of(op.result.type), op))
    return True


def resize(op: graph.ResizeOp, values: BlockedValues) -> bool:
    """Pixels at another density."""
    dims = dims_of(op.input.type)
    if not values.is_computed(op.input) or op.shape is None or op.roi is not None:
        return False
    shape = op.shape.get()
    scales = op.scales.get_values() if op.scales is not None else [1.0] * len(dims)
    if shape[:2] != dims[:2] or any(scale != 1 for scale in scales[:2]):
        return False
    x = values.blocked(op.input, op)
    made = graph.ResizeOp(
        x,
        [*dims_of(x.type)[:2], *shape[2:], Dim.of(values.block)],
        None if op.scales is None else [*scales, 1.0],
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


def elementwise(op: GraphOp, values: BlockedValues) -> bool:
    """An elementwise op, when an operand is blocked and the others can be."""
    if not isinstance(op, (UnaryOp, BinaryOp, graph.WhereOp, graph.ClipOp)):
        return False
    result = op.results[0]
    images = [x for x in op.operands if values.is_computed(x)]
    if not images and _meets_blocked(result, values):
        images = [x for x in op.operands if isinstance(x.owner, graph.TransposeOp) and values.fits(x)]
    if not images or not _same_channels(result, images[0]):
        return False
    if values.is_padded(images[0]) and not _stays_finite(op):
        return False
    ways = [_operand(x, result, values, op) for x in op.operands]
    if any(way is None for way in ways):
        return False
    operands = [way() for way in ways if way is not None]
    made = type(op).create(
        operands=operands,
        properties=dict(op.properties),
        result_types=[result.type],
        attributes=dict(op.attributes),
    )
    made.set_result_types()
    values.define(result, values.insert(made, op))
    return True


def _meets_blocked(value: SSAValue, values: BlockedValues) -> bool:
    """Whether a value is used together with one that is computed in blocked form."""
    users = [use.operation for use in value.uses]
    return any(values.is_computed(x) and _same_channels(x, value) for user in users for x in user.operands)


def _same_channels(a: SSAValue, b: SSAValue) -> bool:
    dims, others = dims_of(a.type), dims_of(b.type)
    return len(dims) == len(others) and dims[1] == others[1]


def _stays_finite(op: GraphOp) -> bool:
    if isinstance(op, graph.DivideOp):
        return all(dim == 1 for dim in dims_of(op.rhs.type)) and isinstance(op.rhs.owner, graph.ConstantOp)
    return isinstance(op, _FINITE)


def _operand(
    value: SSAValue, result: SSAValue, values: BlockedValues, before: GraphOp
) -> Callable[[], SSAValue] | None:
    """How to get an operand that broadcasts to a blocked result; None when there is no cheap way."""
    dims, channels, rank = dims_of(value.type), dims_of(result.type)[1], len(dims_of(result.type))
    if all(dim == 1 for dim in dims) and len(dims) < rank:
        return lambda: values.plain(value, before)
    if len(dims) == rank and (values.is_computed(value) or (dims[1] == channels and values.fits(value))):
        return lambda: values.blocked(value, before)
    if len(dims) == rank and dims[1] == 1:
        return lambda: values.insert(graph.ExpandDimsOp(values.plain(value, before), [rank]), before)
    if len(dims) == rank - 1 and dims[0] == channels and isinstance(value.owner, graph.ConstantOp):
        layouts = values.plain_layout(result)[1:], values.blocked_layout(result)[1:]
        return lambda: values.transformed(value, *layouts, before)
    return None


RULES: Mapping[type[GraphOp], Callable[[Any, BlockedValues], bool]] = {
    graph.BiasAddOp: bias_add,
    graph.ConcatOp: concat,
    graph.ConvOp: conv,
    graph.PadOp: pad,
    graph.PoolOp: pool,
    graph.ReduceOp: reduce,
    graph.ResizeOp: resize,
    graph.TransposeOp: transpose,
}
