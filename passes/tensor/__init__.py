"""Passes on level 2, linalg on tensors."""
