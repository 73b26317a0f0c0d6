"""Kernels of the `gpu` level: all threads of several blocks at once, as lanes of numpy arrays."""
