"""Arithmetic: elementwise operators, products, reductions, signal processing."""

from stepwell.lowering.onnx_to_graph.math import (
    contraction,
    determinant,
    einsum,
    elementwise,
    ordering,
    reduction,
    signal,
    training,
)
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [
    *contraction.PATTERNS,
    *determinant.PATTERNS,
    *einsum.PATTERNS,
    *elementwise.PATTERNS,
    *ordering.PATTERNS,
    *reduction.PATTERNS,
    *signal.PATTERNS,
    *training.PATTERNS,
]
