"""Quantized operators of ONNX."""

from stepwell.lowering.onnx_to_graph.quantized import products
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [*products.PATTERNS]
