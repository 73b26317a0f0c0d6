"""Kernels of the `gpu` level as functions whose positions, barriers and shuffles are intrinsics of NVIDIA."""

from stepwell.lowering.gpu_to_nvvm.convert import ConvertGpuToNvvmPass

__all__ = ["ConvertGpuToNvvmPass"]
