"""Legalization: ops rewritten to the forms that kernels of a target exist for."""
