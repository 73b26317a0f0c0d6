"""Gains and costs of tuning: `python -m benchmarks.tuning`."""
