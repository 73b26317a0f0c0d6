"""The training mode of nodes, as a model says it."""

from __future__ import annotations

from stepwell.dialects import onnx


def is_training(op: onnx.BatchNormalizationOp) -> bool:
    """Whether the op computes statistics: by attribute from opset 14 on, by the number of outputs below."""
    if onnx.opset_of(op) >= 14:
        return bool(op.integer("training_mode"))
    if op.has("is_test") and op.integer("is_test"):
        return False
    return len(op.results) > 1
