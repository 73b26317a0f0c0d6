"""Devices that run parts of a model: their interface, the table of them, and the parts."""
