"""Operators on lists and optional values."""

from stepwell.lowering.onnx_to_graph.sequence import lists
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [*lists.PATTERNS]
