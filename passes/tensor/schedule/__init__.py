"""Schedules of kernels: tile sizes, loop order and lanes, chosen by heuristics from shapes and the target."""
