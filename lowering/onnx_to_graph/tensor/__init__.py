"""Operators that move, index, resize or create tensors."""

from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.onnx_to_graph.tensor import (
    cast,
    counting,
    detection,
    indexing,
    movement,
    placing,
    resize,
    sampling,
    selection,
    shape,
)
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(
    OnnxLowering, cast, counting, detection, indexing, movement, placing, resize, sampling, selection, shape
)
