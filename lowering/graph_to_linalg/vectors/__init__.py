"""Lowerings that emit vector ops and loops directly, with block sizes of their own."""
