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
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(
    OnnxLowering, contraction, determinant, einsum, elementwise, ordering, reduction, signal, training
)
