"""`graph.resize` → `Resize`."""

from __future__ import annotations

from math import floor

import numpy as np
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.lowering.graph_to_onnx.nodes import replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, element_of, is_known, mixed_vector
from stepwell.runtime.dims import Dim


class ResizeExport(OnnxExport):
    """`graph.resize` → `Resize`; scales that do not give the sizes have no counterpart."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ResizeOp, rewriter: PatternRewriter) -> None:
        """
        Pass scales or sizes, and the region, as inputs; decline coordinates of old opsets and unknown sizes.
        """
        if op.coordinate.data == "tf_half_pixel_for_nn" or not is_known(op.shape):
            return
        # Inputs: scales or sizes, and the region
        scales = sizes = roi = None
        if op.scales is not None:
            if not _gives_sizes(op):
                return
            scales = self.constant(np.array(op.scales.get_values(), np.float32), rewriter)
        else:
            sizes = mixed_vector(op.shape, op.shape_value, rewriter)
        if op.roi is not None:
            dtype = dtype_of(element_of(op.input))
            roi = self.constant(np.array(op.roi.get_values()).astype(dtype), rewriter)
        replace_by_node(
            rewriter,
            op,
            onnx.ResizeOp,
            [op.input, roi, scales, sizes],
            mode=op.mode.data,
            coordinate_transformation_mode=op.coordinate.data,
            nearest_mode=op.nearest.data,
            cubic_coeff_a=op.cubic_a.value.data,
            antialias=op.antialias is not None,
            exclude_outside=op.exclude_outside is not None,
            extrapolation_value=op.extrapolation.value.data,
        )


def _gives_sizes(op: graph.ResizeOp) -> bool:
    """Whether ONNX computes the same sizes of the result from the scales in f32."""
    assert op.scales is not None
    if op.shape is None:
        return False
    for dim, scale, size in zip(dims_of(op.input.type), op.scales.get_values(), op.shape.get(), strict=True):
        if np.float32(scale) != scale or not _gives_size(dim, scale, size):
            return False
    return True


def _gives_size(dim: Dim, scale: float, size: Dim) -> bool:
    """Whether a size is a dimension times a scale, rounded down; open sizes need a whole scale."""
    if dim.is_static:
        return size == floor(dim.value * scale)
    return float(scale).is_integer() and size.proves_equal(dim * int(scale))
