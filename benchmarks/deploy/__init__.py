"""Exported models against the bounds that they have: `python -m benchmarks.deploy`."""
