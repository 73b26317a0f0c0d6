"""Schedules of a model that a file decides."""
