"""Devices on the command line: kernels that run without one."""
