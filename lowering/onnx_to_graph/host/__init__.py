"""Operators that the host computes: strings, images."""
