"""Kernels of the `gpu` level as LLVM IR for code generators of GPUs: NVIDIA's and AMD's."""

from stepwell.lowering.device_code.kernels import (
    DeviceCode,
    DeviceKernel,
    Refuse,
    device_code,
    lowered_kernels,
)
from stepwell.lowering.device_code.machine import machine_for, module_for

__all__ = [
    "DeviceCode",
    "DeviceKernel",
    "Refuse",
    "device_code",
    "lowered_kernels",
    "machine_for",
    "module_for",
]
