"""Keys of attributes of level 0 with facts from a model's file about its nodes and values."""

INITIALIZER = "onnx.initializer"
"""Unit attribute of a constant that is an initializer of the file."""
NODE = "onnx.node"
"""The name of a node in the file."""
VALUES = "onnx.values"
"""The names of the results of an op in the file."""
