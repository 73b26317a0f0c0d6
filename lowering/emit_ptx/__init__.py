"""Kernels of the `gpu` level as PTX, the assembly of NVIDIA's drivers."""

from stepwell.lowering.emit_ptx.kernels import PtxKernel, PtxModule, emit_ptx, lowered_kernels

__all__ = ["PtxKernel", "PtxModule", "emit_ptx", "lowered_kernels"]
