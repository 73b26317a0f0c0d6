"""Passes on kernels of the `gpu` level, after `gpu-kernel-outlining`."""
