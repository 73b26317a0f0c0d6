"""The rest of `linalg` on buffers (level 3) → loops over single elements."""

from stepwell.lowering.linalg_to_loops.linalg_to_loops import LinalgToLoopsPass

__all__ = ["LinalgToLoopsPass"]
