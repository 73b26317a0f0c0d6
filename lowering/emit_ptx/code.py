"""LLVM's code generation for GPUs of NVIDIA: LLVM IR to PTX."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.named_target import Target

TRIPLE = "nvptx64-nvidia-cuda"
_EFFORT = 3


def ptx_of(text: str, target: Target, functions: str = "") -> str:
    """
    The PTX of LLVM IR, in the lowest version with the target's architecture: old drivers read no later ones.

    Args: `functions` is the IR of functions that the text calls, which are put in the place of the calls.
    Raises: StepwellError `unsupported-target` when this LLVM makes no PTX; InternalError for a text that it
    refuses.
    """
    machine = _target().create_target_machine(
        cpu=str(target["arch"]), features=f"+ptx{target['ptx']}", opt=_EFFORT, codemodel="small"
    )
    try:
        module = llvm.parse_assembly(text)
        if functions:
            _inline(module, functions, machine)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(None, f"LLVM refuses the generated code: {error}") from None
    return machine.emit_assembly(module)


def _inline(module: llvm.ModuleRef, functions: str, machine: llvm.TargetMachine) -> None:
    """Put functions in the place of their calls. Raises: RuntimeError for a text that LLVM refuses."""
    library = llvm.parse_assembly(functions.replace(" nounwind ", " nounwind alwaysinline "))
    names = [function.name for function in library.functions if not function.is_declaration]
    module.link_in(library)
    for name in names:
        module.get_function(name).linkage = llvm.Linkage.internal
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))


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
