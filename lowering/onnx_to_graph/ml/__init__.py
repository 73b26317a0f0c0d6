"""Operators of ai.onnx.ml: trees, linear models, support vector machines, features."""

from stepwell.lowering.onnx_to_graph.ml import features, linear_models, maps, support_vectors, trees
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import patterns_in

PATTERNS = patterns_in(OnnxLowering, features, linear_models, maps, support_vectors, trees)
