"""Quantizing: data, calibration, the choice of layers by measurement, and the file that is written."""
