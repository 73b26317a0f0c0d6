"""StableHLO text, and JAX functions, as modules of level 0."""
