"""Passes on level 0, the onnx dialect."""
