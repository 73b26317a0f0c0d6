"""Raising: groups of small ops replaced by the one op that they spell out."""
