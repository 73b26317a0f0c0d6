"""Quantized operators of ONNX."""

from stepwell.lowering.onnx_to_graph.quantized import products
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(OnnxLowering, products)
