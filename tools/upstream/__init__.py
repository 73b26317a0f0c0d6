"""Programs of levels 2 to 4 for upstream MLIR, and upstream's text for us."""
