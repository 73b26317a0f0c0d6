"""Operators on lists and optional values."""
