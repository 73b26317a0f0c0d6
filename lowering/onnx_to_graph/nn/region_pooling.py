"""`RoiAlign` → samples in a grid over each region, sums of their neighbours, and their mean or maximum."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class RoiAlignLowering(OnnxLowering):
    """
    `RoiAlign` → one gather of all neighbours of all samples.

    The maximum is over the weighted neighbours, as in ONNX's reference. A number of samples that depends on
    the size of a region is refused.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.RoiAlignOp, rewriter: PatternRewriter) -> None:
        """Weight the gathered neighbours of all samples, and reduce them to samples and then to bins."""
        ratio = op.integer("sampling_ratio")
        if ratio <= 0:
            raise StepwellError(
                "unsupported",
                op,
                "RoiAlign: `sampling_ratio` 0, where each region has its own number of samples",
            )
        # Positions and weights of the samples' neighbours
        at = Formula(self, rewriter)
        x, rois, batch = at.value(op.X), at.value(op.rois).cast(f32), at.value(op.batch_indices).cast(i64)
        regions = rois.dims[0]
        assume_equal(op, batch.dims[0], regions, "a region must name its image", rewriter)
        rows, columns = op.integer("output_height"), op.integer("output_width")
        height, width = x.dims[2:]
        y_at, y_weight = self._neighbours(op, rois, 1, rows, ratio, height)
        x_at, x_weight = self._neighbours(op, rois, 0, columns, ratio, width)
        image = batch.reshape([regions, 1, 1, 1, 1])
        positions = (image * at.extent(height, i64) + y_at.unsqueeze(2, 4)) * at.extent(width, i64)
        positions = positions + x_at.unsqueeze(1, 3)
        weights = y_weight.unsqueeze(2, 4) * x_weight.unsqueeze(1, 3)
        # Gather, and reduction to samples and to bins
        pixels = x.transpose([0, 2, 3, 1]).reshape([x.dims[0] * height * width, x.dims[1]])
        found = pixels.gather(positions, 0).cast(f32) * weights.unsqueeze(5)
        is_max = op.has("mode") and op.string("mode") == "max"
        samples = found.reduce("max" if is_max else "sum", [3, 4])
        samples = samples.reshape([regions, rows, ratio, columns, ratio, x.dims[1]])
        pooled = samples.reduce("max" if is_max else "mean", [2, 4]).transpose([0, 3, 1, 2])
        rewriter.replace(op, [], [pooled.cast(x.element).ssa])

    def _neighbours(
        self, op: onnx.RoiAlignOp, rois: Value, side: int, bins: int, ratio: int, size: Dim
    ) -> tuple[Value, Value]:
        """Both neighbours of each sample along an axis, and their weights: (regions, bins · ratio, 2)."""
        at = rois.formula
        half = onnx.opset_of(op) >= 16 and op.string("coordinate_transformation_mode") == "half_pixel"
        scale, offset = op.floating("spatial_scale"), 0.5 if half else 0.0
        start, end = (rois.slice(1, i, i + 1) * scale - offset for i in (side, side + 2))
        extent = end - start if half else (end - start).maximum(1)
        samples = (at.iota(bins * ratio, f32) + 0.5) / (bins * ratio)
        position = start + extent * samples.unsqueeze(0)
        inside = (position >= -1) & (position <= at.extent(size, f32))
        last = at.extent(size, f32) - 1
        position = position.clip(0, last)
        low = position.apply(graph.FloorOp)
        part = position - low
        pair = at.concat([low.unsqueeze(2), (low + 1).minimum(last).unsqueeze(2)], 2).cast(i64)
        weight = at.concat([(1 - part).unsqueeze(2), part.unsqueeze(2)], 2)
        return pair, at.where(inside.unsqueeze(2), weight, 0.0)
