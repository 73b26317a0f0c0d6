"""Vectorization: tiles computed on vectors, and vectors split to registers."""
