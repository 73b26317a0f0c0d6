"""Reductions along axes, positions of extremes, the greatest elements."""

from __future__ import annotations

from functools import partial

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value


def _reduce(kind: str, call: Call) -> Value:
    x = call.tensor()
    axes = call.checked_axes(call.integers("axis"), x.rank) or list(range(x.rank))
    if call.flag("exclude"):
        axes = [axis for axis in range(x.rank) if axis not in axes]
    made = x.reduce(kind, axes, keep_dims=call.flag("keepdims"))
    return made if made.rank else made.reshape([1])


for _name in ("sum", "mean", "max", "min", "prod"):
    CONVERSIONS.add(_name, partial(_reduce, _name))


@converts("argmax", "argmin")
def arg_extreme(call: Call) -> Value:
    """The position of the greatest or least element along an axis, as a float."""
    op_type = graph.ArgmaxOp if call.op.SIGNATURE.name == "argmax" else graph.ArgminOp
    op = op_type(call.tensor().ssa, call.axis(), keep_dims=call.flag("keepdims"))
    return call.at.op(op).cast(call.element)


@converts("topk")
def topk(call: Call) -> list[Value | None]:
    """The greatest or least elements along an axis, their positions, or both."""
    op = graph.TopKOp(call.tensor().ssa, call.integer("k"), call.axis(), not call.flag("is_ascend"))
    values, indices = call.insert(op)
    positions = indices.cast(call.element)
    match call.text("ret_typ"):
        case "value":
            return [values]
        case "indices":
            return [positions]
        case "both":
            return [values, positions]
        case other:
            raise call.unsupported(f"results of the kind {other!r}")
