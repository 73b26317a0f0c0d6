"""Fusion: which ops become one kernel, and the way back."""
