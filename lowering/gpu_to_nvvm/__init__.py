"""Kernels of the `gpu` level as functions whose positions, barriers and shuffles are intrinsics of NVIDIA."""

from stepwell.lowering.gpu_to_nvvm.convert import ConvertGpuToNvvmPass
from stepwell.lowering.gpu_to_nvvm.signature import kernel_names, parameters_of

__all__ = ["ConvertGpuToNvvmPass", "kernel_names", "parameters_of"]
