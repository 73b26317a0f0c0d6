"""Common functions on LLVM through llvmlite: target machines, parsing, object code."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError
from stepwell.runtime.machine.target import TargetDescription, host_target


@cache
def initialize(native_only: bool = True) -> None:
    """Register LLVM's code generators: this machine's, or all of them (30 ms) for foreign targets."""
    if native_only:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


def target_machine(target: TargetDescription, *, jit: bool = False, effort: int = 2) -> llvm.TargetMachine:
    """
    A new machine for a target; `jit` for code that is loaded into this process, `effort` of code generation
    from 0 to 3.
    """
    initialize(native_only=target.arch == host_target().arch)
    cpu = "x86-64" if target.arch == "x86_64" else "generic"
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=cpu, features=target.feature_string, opt=effort, reloc="pic", codemodel="small", jit=jit
    )


def parse_module(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """
    LLVM IR text as a verified module with the machine's triple and data layout.

    Raises: InternalError with LLVM's message and the line that it names: the text is always our own.
    """
    try:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise InternalError(None, f"LLVM refuses the generated code: {error}") from None
    return module


def object_code(text: str, target: TargetDescription) -> bytes:
    """LLVM IR text to an object file by code generation alone, without LLVM's optimization passes."""
    machine = target_machine(target)
    return machine.emit_object(parse_module(text, machine))
