"""IR of level 1 as Python sees it: annotations, bodies of kernels, refined types; imports no pass."""
