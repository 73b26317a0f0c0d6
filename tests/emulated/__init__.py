"""Tests of code for other CPUs, on an emulated one (`make emulated`)."""
