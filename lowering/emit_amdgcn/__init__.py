"""Kernels of the `gpu` level for GPUs of AMD: assembly, and code objects that their drivers load."""

from stepwell.lowering.emit_amdgcn.kernels import emit_amdgcn
from stepwell.lowering.emit_amdgcn.objects import code_object

__all__ = ["code_object", "emit_amdgcn"]
