"""Operators of ONNX Runtime's domain, com.microsoft."""

from stepwell.lowering.onnx_to_graph.contrib.node import DOMAIN
from stepwell.lowering.onnx_to_graph.contrib.patterns import ON_HOST, OPERATORS, PATTERNS, meaning_of

__all__ = ["DOMAIN", "ON_HOST", "OPERATORS", "PATTERNS", "meaning_of"]
