"""Loops that carry tensors as structured ops: their stores, what depends on what, the ops."""
