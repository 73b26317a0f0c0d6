"""Helpers of tests in several areas."""
