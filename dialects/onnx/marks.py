"""Keys of attributes of level 0 that keep what a model's file says of its nodes and values."""

INITIALIZER = "onnx.initializer"
"""Unit attribute of a constant that is an initializer of the file."""
NODE = "onnx.node"
"""The name of a node in the file."""
VALUES = "onnx.values"
"""The names of the results of an op in the file."""
