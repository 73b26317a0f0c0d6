"""Generators of the docs pages and of the onnx dialect."""
