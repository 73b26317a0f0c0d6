"""Files of the runtime: artifacts, weights, caches."""
