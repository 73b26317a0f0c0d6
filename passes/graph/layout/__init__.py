"""Layouts of feature maps and weights: channel blocks, packed panels, Winograd filters."""
