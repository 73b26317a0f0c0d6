"""Compilation of kernels: the pipeline of one, worker processes, machine code, cache keys."""
