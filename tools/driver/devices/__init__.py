"""Devices of a compilation: the chosen one, and its parts of the model."""
