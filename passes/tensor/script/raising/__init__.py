"""Loops over tensors as structured ops: stores, dependences, ops."""
