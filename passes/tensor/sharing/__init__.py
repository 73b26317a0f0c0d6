"""Functions shared by kernels of different extents, which calls pass as arguments."""
