"""Parts of `benchmarks.gpu`: what is prepared, and runs of it."""
