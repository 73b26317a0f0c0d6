"""Random programs, seeded: models, level-1 passes and broken files; `python -m tests.fuzz` runs them."""
