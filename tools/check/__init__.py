"""Checks of results against ONNX's reference evaluator."""
