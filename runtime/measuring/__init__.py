"""Measuring of single kernels in a process of their own."""
