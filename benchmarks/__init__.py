"""Measurements, side by side with peers."""
