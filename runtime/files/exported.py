"""Exported files: the names of those that programs in C link or load."""

EXPORT_SUFFIXES = (".o", ".a", ".so")
"""The suffixes of files that programs link or load."""
