"""Databases of tuning: what was measured of kernels, as lines of JSON, and its use by compilations."""
