"""Kernels of the `gpu` level as source text: WGSL, OpenCL C, MSL."""

from stepwell.lowering.emit_source.kernel import LANGUAGES, SourceKernel, emit_kernels

__all__ = ["LANGUAGES", "SourceKernel", "emit_kernels"]
