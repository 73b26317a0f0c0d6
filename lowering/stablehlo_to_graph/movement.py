"""Shapes and orders of elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.stablehlo_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@converts("reshape")
def reshape(call: Call) -> Value:
    """The elements in the recorded shape."""
    return call.tensor().reshape(call.dims)


@converts("dynamic_reshape")
def dynamic_reshape(call: Call) -> Value:
    """The elements in the shape of an operand."""
    return call.tensor().reshape(call.operand_sizes("shape"))


@converts("transpose")
def transpose(call: Call) -> Value:
    """The dimensions in another order."""
    return call.tensor().transpose(call.integers("permutation"))


@converts("broadcast_in_dim")
def broadcast_in_dim(call: Call) -> Value:
    """The dimensions at some axes of the recorded shape, and stretched to it."""
    return _broadcast(call, call.dims)


@converts("dynamic_broadcast_in_dim")
def dynamic_broadcast_in_dim(call: Call) -> Value:
    """The dimensions at some axes of the shape of an operand, and stretched to it."""
    return _broadcast(call, call.operand_sizes("shape"))


def _broadcast(call: Call, dims: Sequence[Dim]) -> Value:
    x, axes = call.tensor(), call.integers("broadcast_dimensions")
    if len({*axes} & {*range(len(dims))}) != len(axes) or len(axes) != x.rank:
        message = f"broadcast_in_dim: {x.rank} dimensions are at the axes {list(axes)} of {len(dims)}"
        raise StepwellError("invalid-model", call.op, message)
    if sorted(axes) != list(axes):
        order = sorted(range(len(axes)), key=lambda i: axes[i])
        x, axes = x.transpose(order), [axes[i] for i in order]
    placed = [Dim.of(1)] * len(dims)
    for axis, dim in zip(axes, x.dims, strict=True):
        placed[axis] = dim
    return x.reshape(placed).broadcast_to(tuple(dims))


@converts("slice")
def slice_(call: Call) -> Value:
    """A part, in steps."""
    starts, limits = call.integers("start_indices"), call.integers("limit_indices")
    return call.at.op(graph.SliceOp(call.tensor().ssa, starts, limits, call.integers("strides")))


@converts("concatenate")
def concatenate(call: Call) -> Value:
    """Values joined along an axis."""
    return call.at.concat(call.tensors(), call.integer("dimension"))


@converts("reverse")
def reverse(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    axes = sorted(call.integers("dimensions"))
    return call.at.op(graph.ReverseOp(call.tensor().ssa, axes)) if axes else call.tensor()


@converts("pad")
def pad(call: Call) -> Value:
    """Elements of one number around a tensor, and between its own; negative numbers crop."""
    x, filler = call.tensor(), call.tensor("filler")
    for axis, between in enumerate(call.integers("interior_padding")):
        x = spread(x, axis, between + 1, filler) if between else x
    pads = [*call.integers("edge_padding_low"), *call.integers("edge_padding_high")]
    return call.at.op(graph.PadOp(x.ssa, list(map(Dim.of, pads)), "constant", filler.ssa)) if any(pads) else x


def spread(x: Value, axis: int, step: int, filler: Value) -> Value:
    """A tensor whose elements along an axis are `step` apart, with a filler between them."""
    size = x.dims[axis]
    rows = x.unsqueeze(axis + 1)
    pads = [Dim.of(0)] * (2 * rows.rank)
    pads[rows.rank + axis + 1] = Dim.of(step - 1)
    padded = x.formula.op(graph.PadOp(rows.ssa, pads, "constant", filler.ssa))
    flat = padded.reshape([*x.dims[:axis], size * step, *x.dims[axis + 1 :]])
    return flat.slice(axis, 0, (size - 1) * step + 1)


@converts("iota", "dynamic_iota")
def iota(call: Call) -> Value:
    """The positions along an axis."""
    dims = call.operand_sizes("shape") if call.has("shape") else call.dims
    element = i64 if is_bool(call.element) else call.element
    made = call.at.op(graph.IotaOp(dims, call.integer("iota_dimension"), element))
    return made.cast(call.element)


@converts("get_dimension_size")
def get_dimension_size(call: Call) -> Value:
    """The size of a dimension."""
    return call.at.extent(call.tensor().dims[call.integer("dimension")], call.element)


@converts("dynamic_slice")
def dynamic_slice(call: Call) -> Value:
    """A part from positions on, which are moved so that the part is inside; a gather for each axis."""
    x = call.tensor()
    for axis, (start, size) in enumerate(
        zip(call.tensors("starts"), call.integers("slice_sizes"), strict=True)
    ):
        if x.dims[axis] == size:
            continue
        positions = _start(call, start, x.dims[axis], size).unsqueeze(0) + call.at.iota(size, i64)
        x = x.gather(positions, axis)
    return x


def _start(call: Call, start: Value, dim: Dim, size: int | Dim) -> Value:
    """A start, moved so that a part of some size is inside of a dimension."""
    return start.cast(i64).maximum(0).minimum(call.at.extent(dim - size, i64))


@converts("dynamic_update_slice")
def dynamic_update_slice(call: Call) -> Value:
    """A part overwritten from positions on, which are moved so that the part is inside."""
    x, update = call.tensor(), call.tensor("update")
    if x.rank == 0:
        return update
    starts = [
        _start(call, start, dim, size).reshape([1])
        for start, dim, size in zip(call.tensors("starts"), x.dims, update.dims, strict=True)
    ]
    return call.at.op(graph.InsertSliceOp(x.ssa, update.ssa, call.at.concat(starts, 0).ssa))
