"""ONNX's own test cases through the `onnx.backend` interface."""
