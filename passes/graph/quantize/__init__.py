"""Quantized models: integer arithmetic between dequantize and quantize."""
