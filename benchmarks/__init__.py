"""Benchmarks of models, kernels and the compiler, compared with other engines."""
