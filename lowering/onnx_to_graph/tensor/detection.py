"""`NonMaxSuppression` → `graph`: the boxes of each class, then the rows of all classes joined."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class NonMaxSuppressionLowering(OnnxLowering):
    """
    `NonMaxSuppression` → `graph.non_max_suppression`, and the rows (batch, class, box) of all classes.

    The number of rows is the sum of the classes' counts, bound at run time.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NonMaxSuppressionOp, rewriter: PatternRewriter) -> None:
        """Select at most as many boxes for each class as there are and the model allows, then join them."""
        for what, value in (("boxes", op.boxes), ("scores", op.scores)):
            if (rank := len(shape_of(value, op))) != 3:
                message = f"NonMaxSuppression: {what} have 3 dimensions, found {rank}"
                raise StepwellError("invalid-model", op, message)
        if (width := shape_of(op.boxes, op)[2]).is_static and width != 4:
            message = f"NonMaxSuppression: boxes have 4 numbers, found {width}"
            raise StepwellError("invalid-model", op, message)
        numbers = Numbers(self, rewriter)
        selected = graph.NonMaxSuppressionOp(
            op.boxes,
            op.scores,
            self.as_scalar(op.iou_threshold, op, rewriter) or numbers.number(0, f32).ssa,
            self.as_scalar(op.score_threshold, op, rewriter),
            most=self._most(op, numbers),
            center=op.has("center_point_box") and op.integer("center_point_box") == 1,
        )
        rewriter.insert(selected)
        counts = numbers.value(selected.counts)
        total = counts.reshape([prod(counts.dims, start=Dim.of(1))]).reduce("sum", [0], keep_dims=True)
        rewriter.replace(op, graph.JoinPartsOp(selected.chosen, counts.ssa, numbers.bind(total)[0]))

    def _most(self, op: onnx.NonMaxSuppressionOp, numbers: Numbers) -> Dim:
        """The most boxes of a class, none without a limit: a number, or a symbol bound at run time."""
        count, given = shape_of(op.scores, op)[2], op.max_output_boxes_per_class
        if given is None:
            return Dim.of(0)
        if (limit := self.integers(given)) is not None:
            return count.minimum(max(limit[0], 0))
        inside = numbers.of(given).reshape([1]).maximum(0).minimum(numbers.extents([count]))
        return numbers.bind(inside)[0]
