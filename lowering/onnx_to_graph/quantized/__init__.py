"""Quantized operators of ONNX."""
