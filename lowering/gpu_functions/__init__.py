"""Kernels of the `gpu` level as functions of a device: what the conversions for all vendors share."""

from stepwell.lowering.gpu_functions.kernel_function import Handler, KernelFunction, convert_kernels
from stepwell.lowering.gpu_functions.signature import kernel_names, parameters_of

__all__ = ["Handler", "KernelFunction", "convert_kernels", "kernel_names", "parameters_of"]
