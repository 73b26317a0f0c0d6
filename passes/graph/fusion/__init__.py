"""Fusion: grouping ops into kernels, and the inverse."""
