"""Kernels as a code object of AMD, which has what a launch passes in a section of ours."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.emit_amdgcn import code_object
from stepwell.lowering.refused_part import Refusals
from stepwell.runtime.machine.named_target import Target


def amdgcn_code(module: ModuleOp, target: Target) -> bytes:
    """The kernels of a module as a code object. Raises: RefusedPart with all that a GPU lacks."""
    refusals = Refusals()
    made = code_object(module, target, refusals.add)
    refusals.expect_none()
    return made
