"""Lists of tensors of equal shape, such as results of a loop: a tensor with a position for each element."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim


@converts("make_list")
def make_list(call: Call) -> Value:
    """
    A list of zeros, of the length that it begins with.

    An element beyond that length, which would make a list with `dynamic_length` longer, ends the call with
    the error for an index out of range.
    """
    length = call.sizes_of(call.tensor("init_length").reshape([1]).ssa, "init_length")
    return call.at.full(0, [*length, *map(Dim.of, call.integers("elem_shape"))], call.element)


@converts("list_length")
def list_length(call: Call) -> Value:
    """The number of elements."""
    return call.at.extent(call.tensor("ls").dims[0], call.element)


@converts("list_read")
def list_read(call: Call) -> Value:
    """An element."""
    index = call.tensor("index").reshape([])
    return call.at.op(graph.GatherOp(call.tensor("ls").ssa, index.ssa, 0))


@converts("list_gather")
def list_gather(call: Call) -> Value:
    """Elements, one after the other."""
    return call.at.op(graph.GatherOp(call.tensor("ls").ssa, call.tensor("indices").ssa, 0))


@converts("list_write")
def list_write(call: Call) -> Value:
    """The list with another element at a position."""
    return _written(call, call.tensor("index").reshape([1]), call.tensor("value").unsqueeze(0))


@converts("list_scatter")
def list_scatter(call: Call) -> Value:
    """The list with other elements at positions."""
    return _written(call, call.tensor("indices"), call.tensor("value"))


def _written(call: Call, indices: Value, values: Value) -> Value:
    positions = indices.unsqueeze(indices.rank)
    return call.at.op(graph.ScatterNdOp(call.tensor("ls").ssa, positions.ssa, values.ssa, "none"))
