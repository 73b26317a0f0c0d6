"""Kernels that differ in extents only, made one function that takes the extents as arguments."""
