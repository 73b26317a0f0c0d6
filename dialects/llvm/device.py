"""Address spaces of GPUs in LLVM, and the attribute of kernels' arguments, the same for NVIDIA and AMD."""

from __future__ import annotations

SIZE = "graph.size"
"""Key of an index among a kernel's arguments: its name in `graph.dims` of the buffers that have the size."""
GLOBAL = 1
"""The address space of the memory of the device."""
SHARED = 3
"""The address space of the memory of a block."""
