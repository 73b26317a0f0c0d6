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
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(
    OnnxLowering,
    activation,
    causal_convolution,
    convolution,
    deformable,
    norm,
    pool,
    recurrent,
    region_pooling,
)
