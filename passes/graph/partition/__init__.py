"""Partitioning for backends: match patterns, annotate, merge and outline regions."""
