"""Versions of a program for fixed sizes, beside the one for any sizes."""
