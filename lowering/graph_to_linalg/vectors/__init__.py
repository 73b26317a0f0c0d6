"""Lowerings that emit vectors and loops directly, with block sizes of their own."""
