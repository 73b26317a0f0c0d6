"""Passes on level 3, loops and buffers."""
