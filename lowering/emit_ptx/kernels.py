"""The PTX of a module of kernels, and what a launch of each of them passes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import gpu
from stepwell.lowering.device_code import DeviceKernel, Refuse, device_code
from stepwell.lowering.emit_ptx.code import ptx_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target

_KIND = "cuda"
_ENTRY = re.compile(
    r"^[ \t]*// \.globl\s+(\S+).*\n(?:\s*// \S+ has been demoted\n)*\s*((?:\.(?:global|extern) .*\n\s*)*)",
    re.MULTILINE,
)
"""The lines before each function: its name, that memory of the block is inside or passed, constants."""


@dataclass(frozen=True)
class PtxModule:
    """The PTX of kernels, in one text."""

    text: str
    kernels: Mapping[gpu.GPUFuncOp, DeviceKernel]


def emit_ptx(module: ModuleOp, target: Target, *, refuse: Refuse | None = None) -> PtxModule:
    """
    The kernels of a module as PTX for a target of the kind `cuda`; the module stays as it is.

    Args: `refuse` gets the errors about what has no PTX, all of them; there is no text then.
    Raises: StepwellError `unsupported-target`; `exceeds-target`; without `refuse` also `unsupported`,
    `unsupported-op` for what has no PTX.
    """
    if target.kind != _KIND:
        message = f"there is no PTX for {target.kind}"
        raise StepwellError("unsupported-target", None, message, help="--target cuda")
    if (code := device_code(module, target, refuse)) is None:
        return PtxModule("", {})
    text = ptx_of(code.text, target, code.functions) if code.kernels else ""
    return PtxModule(_with_comments(text, code.comments()), code.kernels)


def _with_comments(text: str, comments: Mapping[str, Sequence[str]]) -> str:
    """The text with the nodes of each kernel above it."""

    def lines(found: re.Match[str]) -> str:
        return found[2] + "".join(f"// {line}\n" for line in comments[found[1]])

    return _ENTRY.sub(lines, text)
