"""Pooling of the graph level → operators of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of
from stepwell.lowering.graph_to_onnx.contraction import is_plain
from stepwell.lowering.graph_to_onnx.copies import WINDOW, copied
from stepwell.lowering.graph_to_onnx.nodes import replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport

KINDS: Mapping[str, type[onnx.OnnxOp]] = {
    "max": onnx.MaxPoolOp,
    "avg": onnx.AveragePoolOp,
    "lp": onnx.LpPoolOp,
}


class PoolExport(OnnxExport):
    """`graph.pool` in ONNX's layout → `MaxPool`, `AveragePool` or `LpPool`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter) -> None:
        """Copy the window attributes; decline layouts other than ONNX's, and another number of windows."""
        ceil = _ceil_mode(op)
        if not is_plain(op.data_layout.data, "NC") or ceil is None:
            return
        kind = op.kind.data
        replace_by_node(
            rewriter,
            op,
            KINDS[kind],
            [op.x],
            kernel_shape=op.kernel.get_values(),
            **copied(op, WINDOW),
            ceil_mode=ceil,
            count_include_pad=bool(op.count_include_pad.value.data) if kind == "avg" else None,
            p=op.p.value.data if kind == "lp" else None,
            storage_order=op.indices.data == "column" if kind == "max" else None,
        )


def _ceil_mode(op: graph.PoolOp) -> bool | None:
    """
    Whether ONNX must round the number of windows up; None when it has no way to give our number of windows.

    Up to opset 21 a last window that would start in the end pad counts.
    """
    if not op.ceil.value.data:
        return False
    rank = len(op.kernel.get_values())
    sizes = dims_of(op.x.type)[2:]
    if not all(size.is_static for size in sizes):
        return None
    pads = op.pads.get_values()
    spans = [(k - 1) * d + 1 for k, d in zip(op.kernel.get_values(), op.dilations.get_values(), strict=True)]
    rooms = [
        size.value + begin + end - span
        for size, begin, end, span in zip(sizes, pads[:rank], pads[rank:], spans, strict=True)
    ]
    counts = [dim.value - 1 for dim in dims_of(op.results[0].type)[2:]]
    strides = op.strides.get_values()
    if counts == [room // stride for room, stride in zip(rooms, strides, strict=True)]:
        return False
    return (
        True if counts == [-(-room // stride) for room, stride in zip(rooms, strides, strict=True)] else None
    )
