"""Vectors as scalars, for targets without vector registers."""
