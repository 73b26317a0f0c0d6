"""Operators of ai.onnx.ml: trees, linear models, support vector machines, features."""
