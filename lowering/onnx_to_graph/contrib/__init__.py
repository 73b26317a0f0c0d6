"""Operators of ONNX Runtime's domain, com.microsoft."""

from stepwell.lowering.onnx_to_graph.contrib.patterns import ON_HOST, OPERATORS, PATTERNS, meaning_of

__all__ = ["ON_HOST", "OPERATORS", "PATTERNS", "meaning_of"]
