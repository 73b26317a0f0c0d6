"""Legalization: ops are replaced by ops that a target has kernels for."""
