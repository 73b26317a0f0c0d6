"""Operators that the host computes: strings, images, random numbers, boxes."""

from stepwell.lowering.onnx_to_graph.host import data, strings
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [*data.PATTERNS, *strings.PATTERNS]
