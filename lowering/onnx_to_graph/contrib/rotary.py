"""`RotaryEmbedding` of `com.microsoft` → products with cosines and sines of positions."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.contrib.heads import count_up
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.runtime.dims import Dim


def rotated(
    node: ContribNode, x: SSAValue, tables: tuple[SSAValue, SSAValue], *, interleaved: bool
) -> SSAValue:
    """
    Heads whose leading elements are rotated in pairs, as many elements as there are angles for.

    Args: `x` has rank 4, its last axis is a head; `tables` are cosines and sines [B, S, 1, R / 2] or
    [B, 1, S, R / 2]. A pair is two neighbours if `interleaved`, else an element of each half.
    """
    *outer, size = node.dims(x)
    half = node.dims(tables[0])[-1]
    whole, rest = half * 2, None
    if not whole.proves_equal(size):
        rest = node.emit(graph.SliceOp(x, [0, 0, 0, whole], [*outer, size], [1] * 4))
        x = node.emit(graph.SliceOp(x, [0] * 4, [*outer, whole], [1] * 4))
    if interleaved:
        pairs = node.emit(graph.ReshapeOp(x, [*outer, half, 2]))
        parts = node.rewriter.insert(graph.SplitOp(pairs, 4, [1, 1])).results
        first, second = (node.emit(graph.SqueezeOp(part, [4])) for part in parts)
    else:
        first, second = node.rewriter.insert(graph.SplitOp(x, 3, [half, half])).results
    halves = _rotated_halves(node, first, second, tables)
    if interleaved:
        columns = [node.emit(graph.ExpandDimsOp(part, [4])) for part in halves]
        y = node.emit(graph.ReshapeOp(node.emit(graph.ConcatOp(columns, 4)), [*outer, whole]))
    else:
        y = node.emit(graph.ConcatOp(halves, 3))
    return y if rest is None else node.emit(graph.ConcatOp([y, rest], 3))


def _rotated_halves(
    node: ContribNode, first: SSAValue, second: SSAValue, tables: tuple[SSAValue, SSAValue]
) -> list[SSAValue]:
    """The two halves of a rotation: first · cos - second · sin, and second · cos + first · sin."""
    cosine, sine = tables

    def times(a: SSAValue, b: SSAValue) -> SSAValue:
        return node.emit(graph.MultiplyOp(a, b))

    real = node.emit(graph.SubtractOp(times(first, cosine), times(second, sine)))
    return [real, node.emit(graph.AddOp(times(second, cosine), times(first, sine)))]


def tables_at(
    node: ContribNode, positions: SSAValue, tables: tuple[SSAValue, SSAValue], axis: int
) -> tuple[SSAValue, SSAValue]:
    """Cosines and sines at positions [B, S], with an axis of size 1 for the heads."""
    cosine, sine = (
        node.emit(graph.ExpandDimsOp(node.emit(graph.GatherOp(table, positions, 0)), [axis]))
        for table in tables
    )
    return cosine, sine


def _rotary_embedding(node: ContribNode) -> SSAValue:
    """The input [B, S, N * H] or [B, N, S, H] with each head rotated by the angles of its position."""
    for name, plain in (("is_packed_batching", 0), ("scale", 1)):
        if node.number(name, plain) != plain:
            raise node.unsupported(f"{name} = {node.number(name, plain)} is not supported yet")
    x, tables = node.input(0), (node.input(2), node.input(3))
    dims, heads_axis = node.dims(x), 1
    if len(dims) == 3:
        x, heads_axis = node.emit(graph.ReshapeOp(x, [*dims[:2], *_heads(node, dims[2])])), 2
    length = node.dims(x)[3 - heads_axis]
    positions = node.input(1)
    if len(node.dims(positions)) == 1:
        positions = node.add(node.cast(positions, i64), count_up(node, length, 1, 2))
    tables = tables_at(node, positions, tables, heads_axis)
    y = rotated(node, x, tables, interleaved=bool(node.integer("interleaved", 0)))
    return node.emit(graph.ReshapeOp(y, dims)) if len(dims) == 3 else y


def _heads(node: ContribNode, size: Dim) -> tuple[Dim, Dim]:
    """
    The number of heads and their size: twice the number of angles, unless only a part of each head is
    rotated.
    """
    if node.integer("rotary_embedding_dim", 0):
        heads = Dim.of(node.required("num_heads"))
        return heads, size // heads
    head = node.dims(node.input(2))[1] * 2
    return size // head, head


OPERATORS: Mapping[str, Meaning] = {"RotaryEmbedding": _rotary_embedding}
"""The operators of this file with their meanings."""
