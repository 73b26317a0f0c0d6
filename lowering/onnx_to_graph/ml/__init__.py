"""Operators of ai.onnx.ml: trees, linear models, support vector machines, features."""

from stepwell.lowering.onnx_to_graph.ml import features, linear_models, maps, support_vectors, trees
from stepwell.lowering.onnx_to_graph.support import OnnxLowering

PATTERNS: list[type[OnnxLowering]] = [
    *features.PATTERNS,
    *linear_models.PATTERNS,
    *maps.PATTERNS,
    *support_vectors.PATTERNS,
    *trees.PATTERNS,
]
