"""Kernels as PTX, whose comments say what a launch passes."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.refused_part import Refusals
from stepwell.runtime.machine.named_target import Target


def ptx_text(module: ModuleOp, target: Target) -> bytes:
    """The kernels of a module as PTX. Raises: RefusedPart with all that a GPU lacks."""
    refusals = Refusals()
    emitted = emit_ptx(module, target, refuse=refusals.add)
    refusals.expect_none()
    return emitted.text.encode()
