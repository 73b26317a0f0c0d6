"""IR of level 2 as Python sees it: structured ops, vectors, tiles, an emitter; imports no pass."""
