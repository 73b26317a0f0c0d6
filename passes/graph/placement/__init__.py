"""Passes that decide which device computes each op, and copy values between devices."""
