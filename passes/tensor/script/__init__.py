"""Schedules as scripts: primitives with their legality, replay, and the script of a schedule that exists."""
