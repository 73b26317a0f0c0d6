"""Tiling: the loops that schedules ask for, with fused producers and padding."""
