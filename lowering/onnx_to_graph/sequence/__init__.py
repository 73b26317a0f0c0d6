"""Operators on lists and optional values."""

from stepwell.lowering.onnx_to_graph.sequence import lists
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(OnnxLowering, lists)
