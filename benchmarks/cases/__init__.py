"""Cases of the benchmarks of kernels and of tuned constants."""
