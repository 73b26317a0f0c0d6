"""Operators that move, index, resize or create tensors."""

from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.onnx_to_graph.tensor import (
    cast,
    counting,
    indexing,
    movement,
    placing,
    resize,
    sampling,
    selection,
    shape,
)

PATTERNS: list[type[OnnxLowering]] = [
    *cast.PATTERNS,
    *counting.PATTERNS,
    *indexing.PATTERNS,
    *movement.PATTERNS,
    *placing.PATTERNS,
    *resize.PATTERNS,
    *sampling.PATTERNS,
    *selection.PATTERNS,
    *shape.PATTERNS,
]
