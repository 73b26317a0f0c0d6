"""Graph ops that read or write at positions that are data → operators of ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.copies import CopyTable, copied
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.runtime.dims import Dim

INDEXED: CopyTable = {
    graph.GatherElementsOp: (onnx.GatherElementsOp, {"axis": "axis"}),
    graph.GatherNdOp: (onnx.GatherNDOp, {"batch_dims": "batch_dims"}),
    graph.ScatterElementsOp: (onnx.ScatterElementsOp, {"axis": "axis", "reduction": "combine"}),
    graph.ScatterNdOp: (onnx.ScatterNDOp, {"reduction": "combine"}),
}


def as_indices(value: SSAValue, rewriter: PatternRewriter, *, narrow: bool = True) -> SSAValue:
    """Indices in an element type that the operators accept: i64, and for some of them i32."""
    return value if narrow and element_of(value) == i32 else cast_to(value, i64, rewriter)


class GatherExport(OnnxExport):
    """`graph.gather` → `Gather`, or `GatherND` where leading dimensions of both operands correspond."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherOp, rewriter: PatternRewriter) -> None:
        """Cast the indices, and clip those that need no check; decline an unknown size to clip to."""
        axis, batch = op.axis.value.data, op.batch_dims.value.data
        size = dims_of(op.input.type)[axis]
        if op.bounds.data != "check" and size.is_unknown:
            return
        indices = as_indices(op.indices, rewriter, narrow=op.bounds.data == "check" and not batch)
        if op.bounds.data != "check":
            indices = _clipped(indices, size, rewriter)
        if not batch:
            replace_by_node(rewriter, op, onnx.GatherOp, [op.input, indices], axis=axis)
            return
        self._by_batch(op, indices, rewriter)

    def _by_batch(self, op: graph.GatherOp, indices: SSAValue, rewriter: PatternRewriter) -> None:
        """Move the axis after the batch dimensions, gather, and move back the dimensions between."""
        axis, batch = op.axis.value.data, op.batch_dims.value.data
        dims, index_dims = dims_of(op.input.type), dims_of(indices.type)
        order = [*range(batch), axis, *range(batch, axis), *range(axis + 1, len(dims))]
        moved = _transposed(op.input, order, rewriter)
        last = insert_integers(rewriter, [len(index_dims)])
        column = tensor_type(i64, [*index_dims, 1])
        indices = insert_node(rewriter, onnx.UnsqueezeOp, [indices, last], column)
        rest = dims_of(moved.type)[batch + 1 :]
        type = tensor_type(element_of(op.result), [*index_dims, *rest])
        found = insert_node(rewriter, onnx.GatherNDOp, [moved, indices], type, batch_dims=batch)
        between, first = axis - batch, len(index_dims)
        places = [*range(batch), *range(first, first + between), *range(batch, first)]
        places += range(first + between, first + len(rest))
        rewriter.replace(op, [], [_transposed(found, places, rewriter)])


def _clipped(indices: SSAValue, size: Dim, rewriter: PatternRewriter) -> SSAValue:
    """Indices as the nearest legal ones; negative ones count from the end."""
    bounds = [
        insert_node(rewriter, onnx.SqueezeOp, [dims_vector([dim], rewriter)], tensor_type(i64, []))
        for dim in (-size, size - 1)
    ]
    return insert_node(rewriter, onnx.ClipOp, [indices, *bounds], indices.type)


def _transposed(value: SSAValue, perm: Sequence[int], rewriter: PatternRewriter) -> SSAValue:
    """A value with permuted dimensions; the value itself where none moves."""
    if list(perm) == sorted(perm):
        return value
    dims = dims_of(value.type)
    type = tensor_type(element_of(value), [dims[place] for place in perm])
    return insert_node(rewriter, onnx.TransposeOp, [value], type, perm=perm)


class ElementsExport(OnnxExport):
    """The other gathers and scatters → the operators of `INDEXED`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: graph.GatherElementsOp | graph.GatherNdOp | graph.ScatterElementsOp | graph.ScatterNdOp,
        rewriter: PatternRewriter,
    ) -> None:
        """Cast the indices, to i64 where they are positions of several dimensions; copy the attributes."""
        several = isinstance(op, graph.GatherNdOp | graph.ScatterNdOp)
        indices = as_indices(op.indices, rewriter, narrow=not several)
        target, names = INDEXED[type(op)]
        operands = [op.input, indices, *op.operands[2:]]
        replace_by_node(rewriter, op, target, operands, **copied(op, names))
