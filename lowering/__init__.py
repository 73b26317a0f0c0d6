"""Conversions from each level to the next, one folder for each; the interpreter; backends."""
