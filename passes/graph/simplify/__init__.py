"""Simplification: algebra, constant folding, dead and duplicate ops."""
