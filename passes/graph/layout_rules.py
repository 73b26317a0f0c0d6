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


def conv(op: graph.ConvOp, values: BlockedValues) -> bool:
    """A dense or depthwise 2-d convolution with constant filters and enough channels."""
    plain = op.data_layout.data == "NCHW" and op.kernel_layout.data == "OIHW" and op.out_layout is None
    if not plain or not isinstance(op.w.owner, graph.ConstantOp) or not values.fits(op.result):
        return False
    groups, block = op.groups.value.data, values.block
    width, depth = (dim.value for dim in dims_of(op.w.type)[:2])
    depthwise = groups > 1 and depth == 1 and width == groups
    if groups > 1 and not depthwise:
        return False
    few = not depthwise and depth < block and not values.is_computed(op.x)
    if not few and not values.fits(op.x):
        return False
    kernel = f"OIHW{block}o" if few or depthwise else f"OIHW{block}i{block}o"
    made = graph.ConvOp(
        values.plain(op.x, op) if few else values.blocked(op.x, op),
        values.transformed(op.w, "OIHW", kernel, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        groups=values.padded_channels(groups) if depthwise else 1,
        data_layout="NCHW" if few else values.layout,
        kernel_layout=kernel,
        out_layout=values.layout,
    )
    values.define(op.result, values.insert(made, op))
    return True


def bias_add(op: graph.BiasAddOp, values: BlockedValues) -> bool:
    """A bias per channel, blocked like the channels."""
    if not values.is_computed(op.x) or op.axis.value.data != 1:
        return False
    bias = values.transformed(op.b, "C", f"C{values.block}c", op)
    values.define(op.result, values.insert(graph.BiasAddOp(values.blocked(op.x, op), bias, 1), op))
    return True


def pool(op: graph.PoolOp, values: BlockedValues) -> bool:
    """A pool, window by window on whole blocks."""
    if not values.is_computed(op.x) or op.indices.data != "none" or op.data_layout.data != "NCHW":
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
        data_layout=values.layout,
    )
    values.define(op.outputs[0], values.insert(made, op))
    return True


def reduce(op: graph.ReduceOp, values: BlockedValues) -> bool:
    """A reduction over pixels; without their dimensions the result is plain again, by a reshape."""
    axes, keep = list(op.axes.get_values()), bool(op.keep_dims.value.data)
    if not values.is_computed(op.input) or not axes or not {*axes} <= {2, 3}:
        return False
    if not keep and axes != [2, 3]:
        return False
    x = values.blocked(op.input, op)
    result = values.insert(graph.ReduceOp(x, op.kind.data, axes, keep_dims=keep), op)
    if keep:
        values.define(op.result, result)
    else:
        dims = dims_of(op.result.type)
        whole = values.insert(graph.ReshapeOp(result, [dims[0], values.padded_channels(dims[1].value)]), op)
        values.define_plain(op.result, values.first_channels(whole, dims, op))
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
    pads = op.pads.get()
    if any(pads[i] != 0 for i in (0, 1, 4, 5)):
        return False
    zero = Dim.of(0)
    x = values.blocked(op.input, op)
    made = graph.PadOp(x, [*pads[:4], zero, *pads[4:], zero], op.mode.data, op.value)
    values.define(op.result, values.insert(made, op))
    return True


def elementwise(op: GraphOp, values: BlockedValues) -> bool:
    """An elementwise op, when an operand is blocked and the others can be."""
    if not isinstance(op, (UnaryOp, BinaryOp, graph.WhereOp, graph.ClipOp)):
        return False
    result = op.results[0]
    computed = [x for x in op.operands if values.is_computed(x)]
    if (
        not computed
        or len(dims_of(result.type)) != 4
        or dims_of(result.type)[1] != dims_of(computed[0].type)[1]
    ):
        return False
    if values.is_padded(computed[0]) and not _stays_finite(op):
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


def _stays_finite(op: GraphOp) -> bool:
    if isinstance(op, graph.DivideOp):
        return all(dim == 1 for dim in dims_of(op.rhs.type)) and isinstance(op.rhs.owner, graph.ConstantOp)
    return isinstance(op, _FINITE)


def _operand(
    value: SSAValue, result: SSAValue, values: BlockedValues, before: GraphOp
) -> Callable[[], SSAValue] | None:
    """How to get an operand that broadcasts to a blocked result; None when there is no cheap way."""
    dims, channels = dims_of(value.type), dims_of(result.type)[1]
    if all(dim == 1 for dim in dims) and len(dims) < 4:
        return lambda: values.plain(value, before)
    if len(dims) == 4 and (values.is_computed(value) or (dims[1] == channels and values.fits(value))):
        return lambda: values.blocked(value, before)
    if len(dims) == 4 and dims[1] == 1:
        return lambda: values.insert(graph.ExpandDimsOp(values.plain(value, before), [4]), before)
    if len(dims) == 3 and dims[0] == channels and isinstance(value.owner, graph.ConstantOp):
        return lambda: values.transformed(value, "CHW", f"CHW{values.block}c", before)
    return None


RULES: Mapping[type[GraphOp], Callable[[Any, BlockedValues], bool]] = {
    graph.BiasAddOp: bias_add,
    graph.ConcatOp: concat,
    graph.ConvOp: conv,
    graph.PadOp: pad,
    graph.PoolOp: pool,
    graph.ReduceOp: reduce,
}
