"""Measurement: latency against other engines, profiles, the machine's limits."""
