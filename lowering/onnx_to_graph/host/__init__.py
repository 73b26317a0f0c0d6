"""Operators that the host computes: strings, images."""

FUNCTIONS = "ai.stepwell.ffi"
"""The domain of nodes whose operator is the name of a registered function."""
