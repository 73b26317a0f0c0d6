"""Arithmetic: elementwise operators, products, reductions, signal processing."""
