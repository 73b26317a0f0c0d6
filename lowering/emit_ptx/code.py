"""LLVM's code generation for GPUs of NVIDIA: LLVM IR to PTX."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.named_target import Target

TRIPLE = "nvptx64-nvidia-cuda"
_EFFORT = 3


def ptx_of(text: str, target: Target) -> str:
    """
    The PTX of LLVM IR, in the lowest version with the target's architecture: old drivers read no later ones.

    Raises: StepwellError `unsupported-target` when this LLVM makes no PTX; InternalError for a text that it
    refuses.
    """
    machine = _target().create_target_machine(
        cpu=str(target["arch"]), features=f"+ptx{target['ptx']}", opt=_EFFORT, codemodel="small"
    )
    try:
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(None, f"LLVM refuses the generated code: {error}") from None
    return machine.emit_assembly(module)


@cache
def _target() -> llvm.Target:
    """LLVM's code generator. Raises: StepwellError `unsupported-target`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(TRIPLE)
    except RuntimeError:
        message = f"llvmlite {llvm.llvm_version_info} has no code generator for {TRIPLE}"
        raise StepwellError("unsupported-target", None, message, help="install a newer llvmlite") from None
