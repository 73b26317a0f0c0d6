"""The assembly of a module of kernels for GPUs of AMD, with the nodes of each."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.emit_amdgcn.machine import machine_module
from stepwell.runtime.machine.named_target import Target

_ENTRY = re.compile(r"^(?=\t\.(?:globl|protected)\t(\S+))", re.MULTILINE)
"""The place before the first line about a symbol."""


def emit_amdgcn(module: ModuleOp, target: Target) -> str:
    """
    The kernels of a module as assembly for a target of the kind `rocm`; the module stays as it is.

    Raises: StepwellError `unsupported-target`, `exceeds-target`, `unsupported`, `unsupported-op`.
    """
    found = machine_module(module, target)
    assert found is not None  # without `refuse` there was an error
    comments = dict(found.code.comments())

    def lines(entry: re.Match[str]) -> str:
        return "".join(f"; {line}\n" for line in comments.pop(entry[1], ()))

    return _ENTRY.sub(lines, found.machine.emit_assembly(found.module))
