"""Operators of ONNX Runtime's domain, com.microsoft."""

from stepwell.lowering.onnx_to_graph.contrib import patterns
from stepwell.lowering.onnx_to_graph.contrib.node import DOMAIN
from stepwell.lowering.onnx_to_graph.contrib.patterns import ON_HOST, OPERATORS, meaning_of
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

__all__ = ["DOMAIN", "ON_HOST", "OPERATORS", "PATTERNS", "meaning_of"]

PATTERNS = patterns_in(OnnxLowering, patterns)
