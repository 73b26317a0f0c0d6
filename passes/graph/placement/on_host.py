"""The attribute of a module with the ops that the host computes in place of a device."""

ON_HOST = "dev.on_host"
"""Attribute of a module: those ops as text, each with the reason."""
