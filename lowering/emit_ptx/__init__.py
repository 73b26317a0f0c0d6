"""Kernels of the `gpu` level as PTX, the assembly that drivers of NVIDIA take."""

from stepwell.lowering.emit_ptx.kernels import PtxKernel, PtxModule, emit_ptx, lowered_kernels

__all__ = ["PtxKernel", "PtxModule", "emit_ptx", "lowered_kernels"]
