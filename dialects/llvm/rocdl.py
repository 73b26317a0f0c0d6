"""Attributes and intrinsics by which functions of the `llvm` dialect are kernels of GPUs of AMD."""

from __future__ import annotations

KERNEL = "rocdl.kernel"
"""Key of the unit attribute of a function that the host launches."""
REQUIRED_THREADS = "rocdl.reqd_work_group_size"
"""Key of the threads of a block along x, y and z, of which each launch has exactly as many."""
PRIVATE = 5
"""The address space of the memory of a thread."""
CONSTANT = 4
"""The address space of arguments, and of values that the hardware passes with them."""
THREAD_ID = "llvm.amdgcn.workitem.id."
"""The intrinsics of a thread's position in its block."""
BLOCK_ID = "llvm.amdgcn.workgroup.id."
"""The intrinsics of a block's position in its grid."""
HIDDEN_ARGUMENTS = "llvm.amdgcn.implicitarg.ptr"
"""The intrinsic of the arguments that the driver adds: three numbers of blocks are the first."""
BARRIER = "llvm.amdgcn.s.barrier"
"""The intrinsic by which the threads of a block wait for each other; it orders no access to memory."""
LANES_BELOW = ("llvm.amdgcn.mbcnt.lo", "llvm.amdgcn.mbcnt.hi")
"""The intrinsics that count the lanes of a mask below the own one, of the lower and the upper 32."""
PERMUTE = "llvm.amdgcn.ds.bpermute"
"""The intrinsic of a value of another lane, whose number is given in bytes."""
