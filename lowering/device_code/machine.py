"""LLVM's code generators for GPUs: IR that functions are put into, checked for a machine."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError, StepwellError

_EFFORT = 3


def machine_for(triple: str, cpu: str, features: str = "") -> llvm.TargetMachine:
    """LLVM's description of a GPU. Raises: StepwellError `unsupported-target` when this LLVM has none."""
    return _target(triple).create_target_machine(cpu=cpu, features=features, opt=_EFFORT, codemodel="small")


def module_for(machine: llvm.TargetMachine, text: str, functions: str = "") -> llvm.ModuleRef:
    """
    LLVM IR for a machine.

    Args: `functions` is the IR of functions that the text calls, which are put in the place of the calls.
    Raises: InternalError for a text that LLVM refuses.
    """
    try:
        module = llvm.parse_assembly(text)
        if functions:
            _inline(module, functions, machine)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(None, f"LLVM refuses the generated code: {error}") from None
    return module


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
def _target(triple: str) -> llvm.Target:
    """LLVM's code generator. Raises: StepwellError `unsupported-target`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError:
        message = f"llvmlite {llvm.llvm_version_info} has no code generator for {triple}"
        raise StepwellError("unsupported-target", None, message, help="install a newer llvmlite") from None
