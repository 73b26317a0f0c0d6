"""Targets: the table of CPUs that code is made for, and targets as users write them."""
