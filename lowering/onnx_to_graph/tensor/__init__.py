"""Operators that move, index, resize or create tensors."""
