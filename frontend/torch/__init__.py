"""PyTorch programs as modules of level 0: exported programs, and `.pt2` files, which need no torch."""
