"""IR to IR on one level, one pass a file."""
