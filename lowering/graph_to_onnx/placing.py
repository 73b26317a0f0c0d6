"""`graph.insert_slice` → `Slice` and `Concat`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.movement import BEFORE_THE_START
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, vector_type
from stepwell.lowering.graph_to_onnx.support import OnnxExport, element_of, is_known
from stepwell.runtime.dims import UNKNOWN, Dim

TO_THE_END = -(BEFORE_THE_START + 1)
"""A limit of ONNX's `Slice` that is after every element."""


class InsertSliceExport(OnnxExport):
    """
    `graph.insert_slice` → along each axis that the update does not cover, the parts before and after it.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.InsertSliceOp, rewriter: PatternRewriter) -> None:
        """Join the parts axis by axis, the first axis last; decline unknown offsets and sizes."""
        whole, part = dims_of(op.input.type), dims_of(op.update.type)
        if not is_known(op.offsets) or any(dim.is_unknown for dim in (*whole, *part)):
            return
        axes = [axis for axis in range(len(whole)) if not whole[axis].proves_equal(part[axis])]
        starts = [self._start(op, axis, rewriter) for axis in axes]
        rewriter.replace(op, [], [_placed(op.input, op.update, axes, starts, rewriter)])

    def _start(self, op: graph.InsertSliceOp, axis: int, rewriter: PatternRewriter) -> SSAValue:
        """The offset along an axis as a vector of one element."""
        if op.offsets is not None:
            return dims_vector([op.offsets.get()[axis]], rewriter)
        assert op.offsets_value is not None
        bounds = [insert_integers(rewriter, [number]) for number in (axis, axis + 1)]
        return insert_node(rewriter, onnx.SliceOp, [op.offsets_value, *bounds], vector_type(1))


def _placed(
    whole: SSAValue,
    update: SSAValue,
    axes: Sequence[int],
    starts: Sequence[SSAValue],
    rewriter: PatternRewriter,
) -> SSAValue:
    """A tensor with an update, which covers all axes but some."""
    if not axes:
        return update
    axis, start = axes[0], starts[0]
    size = dims_of(update.type)[axis]
    end = insert_node(rewriter, onnx.AddOp, [start, dims_vector([size], rewriter)], vector_type(1))
    first, last = insert_integers(rewriter, [0]), insert_integers(rewriter, [TO_THE_END])
    before = _sliced(whole, axis, first, start, Dim.symbol(UNKNOWN), rewriter)
    middle = _sliced(whole, axis, start, end, size, rewriter)
    after = _sliced(whole, axis, end, last, Dim.symbol(UNKNOWN), rewriter)
    middle = _placed(middle, update, axes[1:], starts[1:], rewriter)
    return insert_node(rewriter, onnx.ConcatOp, [before, middle, after], whole.type, axis=axis)


def _sliced(
    value: SSAValue, axis: int, start: SSAValue, end: SSAValue, size: Dim, rewriter: PatternRewriter
) -> SSAValue:
    """A part of a tensor along an axis."""
    dims = list(dims_of(value.type))
    dims[axis] = size
    operands = [value, start, end, insert_integers(rewriter, [axis])]
    return insert_node(rewriter, onnx.SliceOp, operands, tensor_type(element_of(value), dims))
