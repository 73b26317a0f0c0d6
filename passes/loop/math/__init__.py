"""Transcendental functions as arithmetic on scalars and vectors."""
