"""Passes between our programs and those of upstream MLIR."""
