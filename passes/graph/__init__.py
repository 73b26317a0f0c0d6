"""Passes on level 1, the graph dialect."""
