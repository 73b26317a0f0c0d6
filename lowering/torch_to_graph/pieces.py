"""Values cut into pieces and joined."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


def _split(call: Call, axis: int, sizes: Sequence[Dim]) -> list[Value]:
    x = call.tensor()
    return [x] if len(sizes) == 1 else call.insert(graph.SplitOp(x.ssa, axis, sizes))


@converts("split.Tensor", "split.sizes", "split.default", "split_with_sizes.default", "chunk.default")
@converts("tensor_split.sections", "tensor_split.indices", "unsafe_split.Tensor", "unsafe_chunk.default")
@converts("unsafe_split_with_sizes.default", "hsplit.int", "vsplit.int", "dsplit.int", "hsplit.array")
@converts("vsplit.array", "dsplit.array")
def split(call: Call) -> list[Value]:
    """The pieces of an axis, of the sizes that the program records."""
    axis = _split_axis(call)
    return _split(call, axis, [call.result_dims(i)[axis] for i in range(len(call.op.results))])


def _split_axis(call: Call) -> int:
    if call.has("dim"):
        return call.axis()
    title, rank = call.op.SIGNATURE.name, call.tensor().rank
    return 0 if "vsplit" in title or rank == 1 else 1 if "hsplit" in title else 2


@converts("unbind.int")
def unbind(call: Call) -> list[Value]:
    """The parts at all positions of an axis, without the axis."""
    axis = call.axis()
    pieces = _split(call, axis, [Dim.of(1)] * len(call.op.results))
    return [piece.squeeze(axis) for piece in pieces]


@converts("cat.default", "concat.default", "concatenate.default")
def cat(call: Call) -> Value:
    """Values joined along an axis; empty ones of rank 1 are left out."""
    pieces = [each.cast(call.element) for each in call.tensors()]
    rank = len(call.dims)
    pieces = [each for each in pieces if each.rank == rank and (rank > 1 or each.dims[0] != 0)]
    if not pieces:
        return call.at.full(0, call.dims, call.element)
    return pieces[0] if len(pieces) == 1 else call.at.concat(pieces, call.axis(rank=rank))


@converts("stack.default")
def stack(call: Call) -> Value:
    """Values joined along a new axis."""
    axis = call.axis(rank=len(call.dims))
    pieces = [each.cast(call.element).unsqueeze(axis) for each in call.tensors()]
    return pieces[0] if len(pieces) == 1 else call.at.concat(pieces, axis)


@converts("hstack.default", "vstack.default", "row_stack.default", "dstack.default", "column_stack.default")
def stack_of_kind(call: Call) -> Value:
    """Values of at least one, two or three dimensions joined along an axis."""
    title = call.op.SIGNATURE.name
    pieces = [each.cast(call.element) for each in call.tensors()]
    if "column" in title:
        pieces, axis = [each.reshape([*each.dims, *[1] * (2 - each.rank)]) for each in pieces], 1
    elif "hstack" in title:
        pieces = [each.reshape([*[1] * (1 - each.rank), *each.dims]) for each in pieces]
        axis = min(pieces[0].rank - 1, 1)
    elif "dstack" in title:
        pieces, axis = [_of_three(each) for each in pieces], 2
    else:
        pieces, axis = [each.reshape([*[1] * (2 - each.rank), *each.dims]) for each in pieces], 0
    return pieces[0] if len(pieces) == 1 else call.at.concat(pieces, axis)


def _of_three(x: Value) -> Value:
    """A value of at least three dimensions: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]."""
    if x.rank < 2:
        x = x.reshape([*[1] * (2 - x.rank), *x.dims])
    return x.reshape([*x.dims, 1]) if x.rank == 2 else x


@converts("meshgrid.default", "meshgrid.indexing", "broadcast_tensors.default")
def meshgrid(call: Call) -> list[Value]:
    """Values broadcast against each other, each along its own axis."""
    inputs, title = call.tensors(), call.op.SIGNATURE.name
    if "broadcast" in title:
        return [each.broadcast_to(call.dims) for each in inputs]
    results: list[Value] = []
    order = list(range(len(inputs)))
    if call.has("indexing") and call.value("indexing") == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    for i, each in enumerate(inputs):
        shape = [Dim.of(1)] * len(inputs)
        shape[order[i]] = each.dims[0] if each.rank else Dim.of(1)
        results.append(each.reshape(shape).broadcast_to(call.dims))
    return results


@converts("diff.default")
def diff(call: Call) -> Value:
    """The differences of neighbours along an axis, `n` times; of truth values, whether they differ."""
    x, axis, times = call.tensor(), call.axis(), call.integer("n")
    if times == 0:
        return x
    given = [call.optional("prepend"), x, call.optional("append")]
    pieces = [each.cast(call.element) for each in given if each is not None]
    x = pieces[0] if len(pieces) == 1 else call.at.concat(pieces, axis)
    for _ in range(times):
        size = x.dims[axis]
        if size == 0:
            break
        after, before = x.slice(axis, 1, size), x.slice(axis, 0, size - 1)
        x = call.at.op(graph.XorOp(after.ssa, before.ssa)) if is_bool(x.element) else after - before
    return x
