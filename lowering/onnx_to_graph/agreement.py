"""Run-time checks of sizes that an operator needs to be equal and that are not proved equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.builder import builder
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import describe_location
from stepwell.runtime.layout import parse_layout

if TYPE_CHECKING:
    from stepwell.dialects.graph.channel_norm import ChannelNormOp
    from stepwell.dialects.graph.norm import RowNormOp

Need = tuple[Dim, Dim, str]
"""Two sizes that must be equal, and their description for the message."""


def check_agreement(function: FuncOp) -> None:
    """
    Insert checks that stop a call whose input sizes do not fit an operator, before it reads out of bounds.

    ```mlir
    %y = graph.matmul %x, %w : (tensor<?x?xf32, #graph.dims<["N", "K"]>>, tensor<4x3xf32>) -> …
    // ->
    graph.assert "K" equals "4", "…"
    %y = graph.matmul …
    ```
    """
    checked: set[tuple[Dim, Dim]] = set()
    for op in list(function.body.walk()):
        if isinstance(op, graph.AssertOp):
            checked.add((Dim.of(op.lhs.data), Dim.of(op.rhs.data)))
        for left, right, what in _needs(op):
            if left.is_unknown or right.is_unknown or left == right or (left, right) in checked:
                continue
            checked.add((left, right))
            text = f"{op.name} at {describe_location(op)}: {what} must be equal, found {left} and {right}"
            point = InsertPoint.before(_outside_of_kernels(op))
            builder(point, op.location).insert(graph.AssertOp(left, right, text))


def _outside_of_kernels(op: Operation) -> Operation:
    """The kernel around an op, which has no checks in it; the op itself where there is none."""
    around = op.parent_op()
    return op if around is None or not isinstance(around, graph.FusedOp) else _outside_of_kernels(around)


def _needs(op: Operation) -> Iterator[Need]:
    """The sizes that an op needs to be equal."""
    return iter(()) if (needs := _NEEDS.get(op.name)) is None else needs(op)


def _of_convolution(op: graph.ConvOp | graph.ConvIntegerOp) -> Iterator[Need]:
    channels, of_weight = _channels(op)
    yield channels, of_weight * op.groups.value.data, "channels of input and weight"


def _of_transposed_convolution(op: graph.ConvTransposeOp) -> Iterator[Need]:
    yield *_channels(op), "channels of input and weight"


def _channels(op: graph.ConvOp | graph.ConvIntegerOp | graph.ConvTransposeOp) -> tuple[Dim, Dim]:
    """The channels of the input, and those that a weight has for it, in any layout."""
    data, kernel = parse_layout(op.data_layout.data), parse_layout(op.kernel_layout.data)
    return data.logical(dims_of(op.x.type))["C"], kernel.logical(dims_of(op.w.type))["I"]


def _of_recurrence(op: graph.RnnOp) -> Iterator[Need]:
    yield dims_of(op.x.type)[-1], dims_of(op.w.type)[2], "sizes of a step and of the weight"


def _of_batch_norm(op: graph.BatchNormOp) -> Iterator[Need]:
    channels = dims_of(op.input.type)[op.axis.value.data]
    yield from _of_vectors(channels, [op.mean, op.variance, op.scale, op.bias])


def _of_channel_norm(op: ChannelNormOp) -> Iterator[Need]:
    yield from _of_vectors(dims_of(op.input.type)[1], [op.scale, op.bias])


def _of_row_norm(op: RowNormOp) -> Iterator[Need]:
    for vector in (op.scale, op.bias):
        yield from _that_broadcast(op.input, vector)


def _of_positions(op: graph.GatherElementsOp | graph.ScatterElementsOp) -> Iterator[Need]:
    dims, axis = dims_of(op.input.type), op.axis.value.data
    for i, (size, many) in enumerate(zip(dims, dims_of(op.indices.type), strict=True)):
        if i != axis:
            yield from _at_most(many, size, f"indices in dimension {i} and its size")


def _of_boxes(op: graph.NonMaxSuppressionOp) -> Iterator[Need]:
    (batch, count, width), scores = dims_of(op.boxes.type), dims_of(op.scores.type)
    yield batch, scores[0], "batch sizes of boxes and scores"
    yield count, scores[2], "numbers of boxes and of scores"
    yield width, Dim.of(4), "numbers of a box and 4"


def _of_top_k(op: graph.TopKOp) -> Iterator[Need]:
    (k,) = op.k.get()
    yield from _at_most(k, dims_of(op.input.type)[op.axis.value.data], "k and the size of the dimension")


def _of_product(op: graph.MatmulOp | graph.MatmulIntegerOp) -> Iterator[Need]:
    """The inner dimensions of a matrix product, and its batch dimensions other than 1."""
    if isinstance(op, graph.MatmulOp):
        a, b = op.row_dims(), op.column_dims()
    else:
        a, b = dims_of(op.a.type), dims_of(op.b.type)
        b = (b[1], b[0] * b[2]) if op.is_packed else b
    yield a[-1], b[-2], "columns of the left and rows of the right operand"
    for left, right in zip(a[-3::-1], b[-3::-1], strict=False):
        if left != 1 and right != 1:
            yield left, right, "batch sizes"


def _of_einsum(op: graph.EinsumOp) -> Iterator[Need]:
    """The dimensions with the same letter, except those of size 1."""
    found: dict[str, Dim] = {}
    for term, value in zip(op.terms, op.inputs, strict=True):
        for letter, dim in zip(term, dims_of(value.type), strict=True):
            if dim != 1:
                yield found.setdefault(letter, dim), dim, f"sizes of {letter!r}"


def _of_vectors(channels: Dim, vectors: Sequence[SSAValue | None]) -> Iterator[Need]:
    """The channels of an input and the length of each vector per channel."""
    for vector in vectors:
        if vector is not None:
            yield channels, dims_of(vector.type)[0], "channels of input and of its statistics"


def _that_broadcast(value: SSAValue, vector: SSAValue | None) -> Iterator[Need]:
    """The trailing dimensions of a value and of a vector that broadcasts to it."""
    if vector is None:
        return
    for left, right in zip(dims_of(value.type)[::-1], dims_of(vector.type)[::-1], strict=False):
        if right != 1:
            yield left, right, "sizes of input and of scale or bias"


def _at_most(size: Dim, limit: Dim, what: str) -> Iterator[Need]:
    """A need that is met when a size is at most a limit: min(size, limit) = size."""
    if size.is_static and limit.is_static or size == limit or size.is_unknown or limit.is_unknown:
        return
    yield size.minimum(limit), size, what


_NEEDS: Mapping[str, Callable[[Any], Iterator[Need]]] = {
    "graph.batch_norm": _of_batch_norm,
    "graph.conv": _of_convolution,
    "graph.conv_integer": _of_convolution,
    "graph.conv_transpose": _of_transposed_convolution,
    "graph.einsum": _of_einsum,
    "graph.gather_elements": _of_positions,
    "graph.group_norm": _of_channel_norm,
    "graph.instance_norm": _of_channel_norm,
    "graph.layer_norm": _of_row_norm,
    "graph.matmul": _of_product,
    "graph.matmul_integer": _of_product,
    "graph.non_max_suppression": _of_boxes,
    "graph.rms_norm": _of_row_norm,
    "graph.rnn": _of_recurrence,
    "graph.scatter_elements": _of_positions,
    "graph.top_k": _of_top_k,
}
"""The needs of ops by name, so that only the files of ops that a model has are imported."""
