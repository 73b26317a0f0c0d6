"""Servers of this machine: what all that listens has in common."""
