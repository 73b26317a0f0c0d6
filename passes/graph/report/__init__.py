"""Passes that print or annotate facts about a graph and change nothing else."""
