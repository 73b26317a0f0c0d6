"""Writing at indices."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.graph_ir.state import state_names
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.indexing import flattened, spread_masks
from stepwell.lowering.torch_to_graph.movement import prod_of
from stepwell.lowering.torch_to_graph.promotion import operand
from stepwell.lowering.torch_to_graph.selection import as_size
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim

_REDUCTIONS = {
    "sum": "add",
    "mean": "add",
    "prod": "mul",
    "amax": "max",
    "amin": "min",
    "add": "add",
    "multiply": "mul",
}


@converts("scatter.src", "scatter.value", "scatter_add.default", "scatter.reduce", "scatter.value_reduce")
@converts("scatter_reduce.two")
def scatter(call: Call) -> Value:
    """A copy with elements at indices of an axis replaced or combined."""
    x, indices = call.tensor(), call.tensor("index")
    name = "src" if call.has("src") else "value"
    combine = "add" if "scatter_add" in call.op.SIGNATURE.name else "none"
    if call.has("reduce"):
        combine = _REDUCTIONS[str(call.value("reduce"))]
    updates = operand(call, name, call.element)
    if x.rank == 0 or indices.rank == 0:
        x, indices = x.reshape([*x.dims] or [1]), indices.reshape([*indices.dims] or [1])
        updates = updates.reshape([*updates.dims] or [1])
    if updates.rank == 0 or not call.op.SIGNATURE.by_name[name].is_tensor:
        updates = updates.broadcast_to(indices.dims)
    for axis, (own, wanted) in enumerate(zip(updates.dims, indices.dims, strict=True)):
        if own != wanted:
            updates = updates.slice(axis, 0, wanted)
    axis = call.axis(rank=x.rank)
    includes_self = not call.has("include_self") or call.flag("include_self")
    start = x if includes_self else _started(x, indices, updates, axis, combine)
    made = call.at.op(graph.ScatterElementsOp(start.ssa, indices.ssa, updates.ssa, axis, combine))
    if call.has("reduce") and call.value("reduce") == "mean":
        made = _divided(made, _counts(x, indices, updates, axis, includes_self))
    return made.reshape(call.dims)


def _started(x: Value, indices: Value, updates: Value, axis: int, combine: str) -> Value:
    """A value whose elements at the indices change no reduction: 0, 1, or for extremes one of the updates."""
    neutral = {"add": 0, "mul": 1}.get(combine)
    if neutral is not None:
        updates = x.formula.full(neutral, updates.dims, x.element)
    return x.formula.op(graph.ScatterElementsOp(x.ssa, indices.ssa, updates.ssa, axis))


def _counts(x: Value, indices: Value, updates: Value, axis: int, includes_self: bool) -> Value:
    """The number of summands of each element; 1 for one without a summand, which stays."""
    own = x.formula.full(1 if includes_self else 0, x.dims, x.element)
    ones = x.formula.full(1, updates.dims, x.element)
    op = graph.ScatterElementsOp(own.ssa, indices.ssa, ones.ssa, axis, "add")
    return x.formula.op(op).maximum(1)


def _divided(total: Value, count: Value) -> Value:
    """A quotient; that of integers is rounded down."""
    if not is_float(total.element):
        total = total - total.formula.op(graph.RemainderOp(total.ssa, count.ssa, "floor"))
    return total / count


@converts("index_put.default", "_unsafe_index_put.default")
def index_put(call: Call) -> Value:
    """A copy with the elements at indices of some axes replaced, or with values added to them."""
    x, indices = spread_masks(call, call.tensor())
    axes = [axis for axis, each in enumerate(indices) if each is not None]
    given = [each for each in indices if each is not None]
    values = call.tensor("values").cast(call.element)
    if len(given) == 1 and is_state(x) and prod_of(given[0].dims) == 1 and not call.flag("accumulate"):
        return _in_place(x, axes[0], given[0], values)
    flat, positions, others = flattened(x, axes, given)
    shape = [*positions.dims, *(x.dims[axis] for axis in others)]
    if axes == list(range(axes[0], axes[-1] + 1)) and axes[0] > 0:
        # The values have the indexed dimensions in the place of the axes, the result's order has them first.
        front = len([axis for axis in others if axis < axes[0]])
        rank = positions.rank
        ordered = [x.dims[axis] for axis in others[:front]]
        placed = [*ordered, *positions.dims, *(x.dims[axis] for axis in others[front:])]
        values = values.broadcast_to(placed)
        moved = [*range(front, front + rank), *range(front), *range(front + rank, len(placed))]
        values = values.transpose(moved)
    values = values.broadcast_to(shape)
    combine = "add" if call.flag("accumulate") else "none"
    made = call.at.op(
        graph.ScatterNdOp(flat.ssa, positions.unsqueeze(positions.rank).ssa, values.ssa, combine)
    )
    order = [*axes, *others]
    shaped = made.reshape([x.dims[axis] for axis in order])
    return shaped.transpose([order.index(axis) for axis in range(x.rank)])


def is_state(value: Value) -> bool:
    """Whether a value is a state's value before the call."""
    argument = value.ssa
    if not isinstance(argument, BlockArgument) or not isinstance(main := argument.block.parent_op(), FuncOp):
        return False
    return state_names(main)[argument.index] is not None


def _in_place(x: Value, axis: int, position: Value, values: Value) -> Value:
    """
    A state with the slice at one position of an axis replaced.

    The position is a size, not an element of a tensor: the next value is then in the memory of the other.
    """
    slot = [Dim.of(1) if i == axis else dim for i, dim in enumerate(x.dims)]
    placed = [*slot[:axis], *position.dims, *slot[axis + 1 :]]
    number = position.cast(i64).reshape([1])
    wrapped = x.formula.where(number < 0, number + x.formula.extent(x.dims[axis], i64), number)
    offsets = [as_size(wrapped) if i == axis else Dim.of(0) for i in range(x.rank)]
    return x.formula.op(graph.InsertSliceOp(x.ssa, values.broadcast_to(placed).reshape(slot).ssa, offsets))


@converts("index_add.default")
def index_add(call: Call) -> Value:
    """A copy with slices at indices of an axis added to, or replaced."""
    x, indices, source = call.tensor(), call.tensor("index"), call.tensor("source").cast(call.element)
    axis = call.axis(rank=max(x.rank, 1))
    if "index_add" in call.op.SIGNATURE.name and call.value("alpha") != 1:
        source = source * operand(call, "alpha", call.element)
    if x.rank == 0:
        x, source = x.reshape([1]), source.reshape([1])
    indices = indices.reshape([source.dims[axis]])
    shape = [dim if i == axis else 1 for i, dim in enumerate(source.dims)]
    spread = indices.reshape(shape).broadcast_to(source.dims)
    combine = "add" if "index_add" in call.op.SIGNATURE.name else "none"
    op = graph.ScatterElementsOp(x.ssa, spread.ssa, source.ssa, axis, combine)
    return call.at.op(op).reshape(call.dims)


@converts("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill(call: Call) -> Value:
    """A copy with slices at indices of an axis filled with a number."""
    x, indices = call.tensor(), call.tensor("index")
    axis = call.axis()
    indices = indices.reshape([*indices.dims] or [1])
    x = x.reshape([*x.dims] or [1])
    shape = [indices.dims[0] if i == axis else dim for i, dim in enumerate(x.dims)]
    spread = indices.reshape([dim if i == axis else 1 for i, dim in enumerate(shape)]).broadcast_to(shape)
    values = operand(call, "value", call.element).broadcast_to(shape)
    return call.at.op(graph.ScatterElementsOp(x.ssa, spread.ssa, values.ssa, axis)).reshape(call.dims)
