"""Attributes and intrinsics by which functions of the `llvm` dialect are kernels of GPUs of NVIDIA."""

from __future__ import annotations

KERNEL = "nvvm.kernel"
"""Key of the unit attribute of a function that the host launches."""
REQUIRED_THREADS = "nvvm.reqntid"
"""Key of the threads of a block along x, y and z, of which each launch has exactly as many."""
SIZE = "nvvm.size"
"""Key of an index among a kernel's arguments: its name in `graph.dims` of the buffers that have the size."""
SHARED = 3
"""The address space of the memory of a block."""
REGISTER = "llvm.nvvm.read.ptx.sreg."
"""The intrinsics of special registers: positions of a thread, and sizes of its block and grid."""
BARRIER = "llvm.nvvm.barrier.cta.sync.aligned.all"
"""The intrinsic by which the threads of a block wait for each other at barrier 0."""
SHUFFLE = "llvm.nvvm.shfl.sync."
"""The intrinsics of values that the threads of a warp exchange."""
TO_TF32 = "llvm.nvvm.f2tf32.rna"
"""The intrinsic of numbers with the digits of tensor cores, as bits."""
MMA = "llvm.nvvm.mma."
"""The intrinsics of products by tensor cores; a shape, layouts and types follow."""
