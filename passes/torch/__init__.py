"""Passes on level 0 of PyTorch programs."""
