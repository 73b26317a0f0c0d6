"""Products and convolutions with any numbering of dimensions."""

from __future__ import annotations

import re

from stepwell.dialects import graph
from stepwell.lowering.stablehlo_to_graph.movement import spread
from stepwell.lowering.stablehlo_to_graph.support import Call, converts, product
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim

_NUMBERS = re.compile(r"\[(.*?)\]x\[(.*?)\]->\[(.*?)\]")


@converts("dot_general")
def dot_general(call: Call) -> Value:
    """Products of matrices [batch, rows, contracted] and [batch, contracted, columns]."""
    x, y = call.tensor(), call.tensor("y")
    batch = call.integers("lhs_batching_dimensions"), call.integers("rhs_batching_dimensions")
    contracted = call.integers("lhs_contracting_dimensions"), call.integers("rhs_contracting_dimensions")
    rows = [axis for axis in range(x.rank) if axis not in (*batch[0], *contracted[0])]
    columns = [axis for axis in range(y.rank) if axis not in (*batch[1], *contracted[1])]
    outer = [x.dims[axis] for axis in batch[0]]
    parts = [x.dims[axis] for axis in rows], [y.dims[axis] for axis in columns]
    depth = product([x.dims[axis] for axis in contracted[0]])
    a = x.transpose([*batch[0], *rows, *contracted[0]]).reshape([*outer, product(parts[0]), depth])
    b = y.transpose([*batch[1], *contracted[1], *columns]).reshape([*outer, depth, product(parts[1])])
    result = a.matmul(b) if a.element == b.element else a.cast(call.element).matmul(b.cast(call.element))
    return result.cast(call.element).reshape([*outer, *parts[0], *parts[1]])


@converts("convolution")
def convolution(call: Call) -> Value:
    """A convolution, on dimensions in the order of `graph.conv`."""
    found = _NUMBERS.fullmatch(str(call.value("dimension_numbers")).strip("<>"))
    if found is None:
        raise call.unsupported(f"the dimension numbers {call.value('dimension_numbers')}")
    data, kernel, result = ([each.strip() for each in text.split(",")] for text in found.groups())
    rank = len(data) - 2
    if call.integer("batch_group_count") != 1 or rank < 1:
        raise call.unsupported("groups of batches, or no spatial dimension")
    x = call.tensor().transpose([data.index(each) for each in ("b", "f", *map(str, range(rank)))])
    w = call.tensor("filter").transpose([kernel.index(each) for each in ("o", "i", *map(str, range(rank)))])
    if turned := [2 + i for i, is_turned in enumerate(call.integers("window_reversal")) if is_turned]:
        w = call.at.op(graph.ReverseOp(w.ssa, turned))
    order = ["b", "f", *map(str, range(rank))]
    return _convolved(call, x, w, rank).transpose([order.index(each) for each in result])


def _convolved(call: Call, x: Value, w: Value, rank: int) -> Value:
    """A convolution of channels first."""
    filler = call.at.number(0, x.element)
    for axis, step in enumerate(call.given("lhs_dilation", rank, 1)):
        x = spread(x, 2 + axis, step, filler) if step > 1 else x
    pads = call.pairs("padding", rank)
    cropped = [min(each, 0) for pair in pads for each in pair]
    if any(cropped):
        around = [0, 0, *cropped[::2], 0, 0, *cropped[1::2]]
        x = call.at.op(graph.PadOp(x.ssa, list(map(Dim.of, around)), "constant", filler.ssa))
    op = graph.ConvOp(
        x.ssa,
        w.ssa,
        strides=call.given("window_strides", rank, 1),
        dilations=call.given("rhs_dilation", rank, 1),
        pads=[*(max(pair[0], 0) for pair in pads), *(max(pair[1], 0) for pair in pads)],
        groups=call.integer("feature_group_count"),
    )
    return call.at.op(op).cast(call.element)
