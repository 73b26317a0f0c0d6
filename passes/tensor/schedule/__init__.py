"""Schedules of kernels: tile sizes, loop order and lanes, chosen by rules from shapes and the target."""
