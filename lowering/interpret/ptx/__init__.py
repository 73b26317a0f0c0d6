"""The interpreter of PTX: what LLVM writes for our kernels, all threads as lanes of numpy arrays."""

from stepwell.lowering.interpret.ptx.launcher import ptx_launcher
from stepwell.lowering.interpret.ptx.machine import Buffer, PtxProgram

__all__ = ["Buffer", "PtxProgram", "ptx_launcher"]
