"""Readers of files of other systems."""
