"""From LLVM IR text to machine code: objects and assembly, with or without LLVM's optimization passes."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

from stepwell.runtime.native import parse_module, target_machine
from stepwell.runtime.target import TargetDescription

# After instruction selection LLVM hoists constants out of all loops, whatever registers are left: those of an
# epilogue's polynomial stayed in registers across the loop of the sums, which spilled (a product with erf ran
# at 18 GFLOP/s instead of 110). Our own passes hoist what is worth it; without LLVM's, no model was slower.
llvm.set_option("stepwell", "-disable-machine-licm")
# It also keeps one copy of a constant for all blocks behind the first that has it: constants of the epilogue
# of whole tiles lay in registers across the loop of the sums of the tiles that are left over, which spilled.
llvm.set_option("stepwell", "-disable-machine-cse")

_STORE = r"^\s*(?:v?mov[ua]p[sd]\s+%[xyz]mm\d+, .*\(%{}\b|st[rpu]\w*\s+q\d+.*\[(?:sp|x29)\b)"
_VECTOR_SPILL = re.compile(_STORE.format("rsp"), re.MULTILINE)
_FRAME_SPILL = re.compile(_STORE.format("r[sb]p"), re.MULTILINE)
_FRAME_POINTER = re.compile(r"^\s*movq\s+%rsp, %rbp$", re.MULTILINE)


def compile_to_object(text: str, target: TargetDescription, *, optimize: bool, effort: int = 2) -> bytes:
    """
    The object file of LLVM IR text.

    Args: `optimize` runs LLVM's pipeline before code generation. Code with explicit vectors does not need it
    (it doubles the compile time and moved run time by under 2 %); scalar loops do. `effort` is that of code
    generation: 0 takes a tenth of the time and half of the memory of 2.
    Raises: InternalError when LLVM refuses the text.
    """
    machine = target_machine(target, effort=effort)
    return machine.emit_object(_module(text, machine, optimize))


def emit_assembly(text: str, target: TargetDescription, *, optimize: bool) -> str:
    """The assembly of LLVM IR text, to read and to count spills in; arguments as for `compile_to_object`."""
    machine = target_machine(target)
    return machine.emit_assembly(_module(text, machine, optimize))


def vector_spills(assembly: str) -> int:
    """
    How many vector registers assembly stores on the stack: a register tile that spills is slow.

    Args: `assembly` of x86-64 or aarch64; stores relative to the stack or frame pointer count (a function
    without a frame pointer uses that register for anything).
    """
    store = _FRAME_SPILL if _FRAME_POINTER.search(assembly) else _VECTOR_SPILL
    return len(store.findall(assembly))


def optimized_text(text: str, target: TargetDescription) -> str:
    """The LLVM IR after LLVM's own pipeline, for people."""
    return str(_module(text, target_machine(target), optimize=True))


def _module(text: str, machine: llvm.TargetMachine, optimize: bool) -> llvm.ModuleRef:
    # A module is emitted once only: code generation changes it, and emitting it twice can abort the process.
    module = parse_module(text, machine)
    if optimize:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    return module
