"""Kernels of the `gpu` level as functions whose positions, barriers and shuffles are intrinsics of AMD."""

from stepwell.lowering.gpu_to_rocdl.convert import ConvertGpuToRocdlPass

__all__ = ["ConvertGpuToRocdlPass"]
