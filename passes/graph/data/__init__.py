"""Data types: the prelude, matches and their cases."""
