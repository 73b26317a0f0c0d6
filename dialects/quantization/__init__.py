"""Scales, zero points and codes of quantized tensors; the files that have statistics and plans."""
