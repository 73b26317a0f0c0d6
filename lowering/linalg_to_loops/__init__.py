"""Level 3: what is left of `linalg` on buffers becomes loops over single elements."""

from stepwell.lowering.linalg_to_loops.linalg_to_loops import LinalgToLoopsPass

__all__ = ["LinalgToLoopsPass"]
