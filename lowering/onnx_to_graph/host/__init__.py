"""Operators that the host computes: strings, images, random numbers, boxes."""

from stepwell.lowering.onnx_to_graph.host import data, strings
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(OnnxLowering, data, strings)
