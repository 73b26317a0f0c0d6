"""LLVM's code generation for GPUs of NVIDIA: LLVM IR to PTX."""

from __future__ import annotations

from stepwell.lowering.device_code import machine_for, module_for
from stepwell.runtime.machine.named_target import Target

TRIPLE = "nvptx64-nvidia-cuda"


def ptx_of(text: str, target: Target, functions: str = "") -> str:
    """
    The PTX of LLVM IR, in the lowest version with the target's architecture: old drivers read no later ones.

    Args: `functions` is the IR of functions that the text calls, which are put in the place of the calls.
    Raises: StepwellError `unsupported-target` when this LLVM makes no PTX; InternalError for a text that it
    refuses.
    """
    machine = machine_for(TRIPLE, str(target["arch"]), f"+ptx{target['ptx']}")
    return machine.emit_assembly(module_for(machine, text, functions))
