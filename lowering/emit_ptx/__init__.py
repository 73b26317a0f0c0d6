"""Kernels of the `gpu` level as PTX, the assembly of NVIDIA's drivers."""

from stepwell.lowering.emit_ptx.kernels import PtxModule, emit_ptx

__all__ = ["PtxModule", "emit_ptx"]
