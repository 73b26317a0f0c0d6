"""Neural network layers: convolutions, pools, normalizations, recurrent cells."""

from stepwell.lowering.onnx_to_graph.nn import (
    activation,
    causal_convolution,
    convolution,
    deformable,
    norm,
    pool,
    recurrent,
    region_pooling,
)
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [
    *activation.PATTERNS,
    *causal_convolution.PATTERNS,
    *convolution.PATTERNS,
    *deformable.PATTERNS,
    *norm.PATTERNS,
    *pool.PATTERNS,
    *recurrent.PATTERNS,
    *region_pooling.PATTERNS,
]
