"""Operators that the host computes: strings, images, random numbers, boxes."""
