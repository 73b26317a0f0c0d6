"""Reductions along axes, positions of extremes, running sums."""

from __future__ import annotations

from functools import partial

from xdsl.dialects.builtin import IntegerType

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import CONVERSIONS, Call, converts, on_codes
from stepwell.lowering.to_graph import Value, size_of
from stepwell.runtime.dims import Dim

_KINDS = {"mean": "mean", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "sum": "sum"}


def _reduce(kind: str, call: Call) -> Value:
    return call.tensor().reduce(kind, call.operand_axes(), keep_dims=call.flag("keep_dims"))


for _name, _kind in _KINDS.items():
    CONVERSIONS.add(_name, partial(_reduce, _kind))


@converts("reduce_any", "reduce_all")
def reduce_truth(call: Call) -> Value:
    """Whether any element, or each, is true."""
    kind = "max" if call.op.SIGNATURE.name == "reduce_any" else "min"
    i32, x = IntegerType(32), call.tensor()
    reduced = x.cast(i32).reduce(kind, call.operand_axes(), keep_dims=call.flag("keep_dims"))
    return reduced.cast(x.element)


@converts("arg_max", "arg_min")
def arg_extreme(call: Call) -> Value:
    """The position of the greatest or least element along an axis."""
    x = call.tensor()
    axis = call.checked_axis(call.operand_integers("axis")[0], x.rank)
    op_type = graph.ArgmaxOp if call.op.SIGNATURE.name == "arg_max" else graph.ArgminOp
    return call.at.op(op_type(x.ssa, axis)).cast(call.element)


@converts("topk_v2")
def topk(call: Call) -> list[Value | None]:
    """The greatest elements of each row, in order, and their positions."""
    x = call.tensor()
    (count,) = call.operand_sizes("count")
    values, indices = call.insert(graph.TopKOp(x.ssa, count, x.rank - 1))
    return [values, indices.cast(IntegerType(32))]


@converts("cumsum")
def cumsum(call: Call) -> Value:
    """Running sums along an axis."""
    x = call.tensor()
    axis = call.checked_axis(call.operand_integers("axis")[0], x.rank)
    exclusive, reverse = call.flag("exclusive"), call.flag("reverse")
    return call.at.op(graph.ScanOp(x.ssa, "sum", axis, exclusive=exclusive, reverse=reverse))


@converts("segment_sum")
def segment_sum(call: Call) -> Value:
    """The sums of the parts that have equal numbers, which are sorted and constant."""
    segments = call.operand_integers("segments")
    if segments != sorted(segments) or min(segments, default=0) < 0:
        raise call.unsupported("segments that are not sorted numbers from 0 on")
    return _segments(call, Dim.of(segments[-1] + 1 if segments else 0), "add", 0)


@converts("unsorted_segment_sum", "unsorted_segment_prod", "unsorted_segment_max", "unsorted_segment_min")
def unsorted_segment(call: Call) -> Value:
    """The parts with equal numbers, combined; the start of a combination where there is none."""
    (count,) = call.operand_sizes("count")
    kind = call.op.SIGNATURE.name.rpartition("_")[2]
    combine, start = {"sum": ("add", 0.0), "prod": ("mul", 1.0)}.get(kind, (kind, 0.0))
    if kind in ("max", "min"):
        least, greatest = call.range_of(call.element)
        start = least if kind == "max" else greatest
    return _segments(call, count, combine, start)


def _segments(call: Call, count: Dim, combine: str, start: float) -> Value:
    """The parts of `x` combined at the positions of an operand; those with a negative number are left out."""
    x, segments = call.tensor(), call.codes("segments")
    rest = x.dims[segments.rank :]
    flat = segments.reshape([size_of(segments.dims), 1])
    # Parts with a negative number go to one more place, which is cut off.
    places = call.at.where(flat < 0, flat * 0 + call.at.extent(count, flat.element), flat)
    full = call.at.full(start, [count + 1, *rest], x.element)
    updates = x.reshape([flat.dims[0], *rest])
    return call.at.op(graph.ScatterNdOp(full.ssa, places.ssa, updates.ssa, combine)).slice(0, 0, count)


on_codes("reduce_max reduce_min arg_max arg_min topk_v2")
