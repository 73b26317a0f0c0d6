"""Compilation of kernels: the pipeline of a kernel, worker processes, machine code, cache keys."""
