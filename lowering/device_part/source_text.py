"""Kernels as source text with what a launch passes to them, as JSON: WGSL, OpenCL C, MSL."""

from __future__ import annotations

import json

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.emit_source import SourceKernel, emit_kernels
from stepwell.lowering.refused_part import Refusals
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.machine.named_target import Target


def source_text(module: ModuleOp, target: Target) -> bytes:
    """
    The kernels of a module in the language of a target.

    Raises: RefusedPart with all that the language lacks.
    """
    refusals = Refusals()
    emitted = emit_kernels(module, target, in_arena=True, refuse=refusals.add)
    refusals.expect_none()
    kernels = {kernel.name: _described(kernel) for kernel in emitted}
    return json.dumps(kernels, separators=(",", ":")).encode()


def _described(kernel: SourceKernel) -> dict[str, object]:
    """A kernel as plain JSON values."""
    return {
        "text": kernel.text,
        "block": list(kernel.block),
        "buffers": list(kernel.buffers),
        "scalars": [[scalar.type, scalar.argument, scalar.dim] for scalar in kernel.scalars],
        "infinity": kernel.needs_infinity,
        "iterations": json_of(kernel.iterations),
    }
