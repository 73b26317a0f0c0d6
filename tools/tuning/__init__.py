"""Tuning: schedules of kernels that are searched for and measured."""
