"""LLVM IR text to machine code: objects and assembly, with or without LLVM's optimization passes."""

from __future__ import annotations

import re
from functools import cache
from threading import local

import llvmlite.binding as llvm

from stepwell.runtime.errors import InternalError
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.targets.cpu import level_of

# After instruction selection LLVM hoists constants out of all loops, whatever registers are left: those of an
# epilogue's polynomial occupied registers across the reduction loop, which spilled (a product with erf ran at
# 18 GFLOP/s instead of 110). Our own passes hoist where it pays; without LLVM's, no model was slower.
llvm.set_option("stepwell", "-disable-machine-licm")
# It also shares one copy of a constant among all blocks after the first one that uses it: constants of the
# epilogue of whole tiles occupied registers across the reduction loop of the remainder tiles, which spilled.
llvm.set_option("stepwell", "-disable-machine-cse")
# Loop strength reduction searches for the best combination of address registers, a third of the time of code
# generation. `hoist-addresses` has already left one pointer a row and constant offsets from it.
llvm.set_option("stepwell", "-disable-lsr")

_CPUS = {"x86_64": "x86-64", "riscv64": "generic-rv64", "riscv32": "generic-rv32"}
"""LLVM's names of CPUs without features of their own."""
_STORE = r"^\s*(?:v?mov[ua]p[sd]\s+%[xyz]mm\d+, .*\(%{}\b|st[rpu]\w*\s+q\d+.*\[(?:sp|x29)\b)"
_VECTOR_SPILL = re.compile(_STORE.format("rsp"), re.MULTILINE)
_FRAME_SPILL = re.compile(_STORE.format("r[sb]p"), re.MULTILINE)
_FRAME_POINTER = re.compile(r"^\s*movq\s+%rsp, %rbp$", re.MULTILINE)


def compile_to_object(text: str, target: TargetDescription, *, optimize: bool, effort: int = 2) -> bytes:
    """
    The object file of LLVM IR text.

    Args: `optimize` runs LLVM's pipeline before code generation. Code with explicit vectors does not need it
    (it doubles the compile time and moved run time by under 2 %); scalar loops do. `effort` is the level of
    code generation: 0 takes a tenth of the time and half of the memory of 2.
    Raises: InternalError when LLVM refuses the text.
    """
    machine = _kept_machine(target, effort)
    return machine.emit_object(_module(_with_vector_length(text, target), machine, optimize))


def emit_assembly(text: str, target: TargetDescription, *, optimize: bool) -> str:
    """The assembly of LLVM IR text, to read and to count spills; arguments as for `compile_to_object`."""
    machine = target_machine(target)
    return machine.emit_assembly(_module(_with_vector_length(text, target), machine, optimize))


def vector_spills(assembly: str) -> int:
    """
    The number of instructions that store vector registers on the stack: a register tile that spills is slow.

    Args: `assembly` of x86-64 or aarch64.
    """
    return len(spill_pattern(assembly).findall(assembly))


def spill_pattern(assembly: str) -> re.Pattern[str]:
    """
    Matches the instructions of an assembly that store vector registers on the stack.

    Stores relative to the stack or frame pointer count (a function without a frame pointer uses that register
    for anything).
    """
    return _FRAME_SPILL if _FRAME_POINTER.search(assembly) else _VECTOR_SPILL


def _module(text: str, machine: llvm.TargetMachine, optimize: bool) -> llvm.ModuleRef:
    """A parsed module, optimized by LLVM's pipeline if `optimize`."""
    # A module is emitted once only: code generation changes it, and emitting it twice can abort the process.
    module = parse_module(text, machine)
    if optimize:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
    return module


_DEFINITION = re.compile(r"^(define [^{]*)\{", re.MULTILINE)


def _with_vector_length(text: str, target: TargetDescription) -> str:
    """
    LLVM IR text whose functions say that SVE registers have 256 bits, for a target with SVE.

    Without it, LLVM makes two NEON instructions of each operation on 256 bits.
    """
    if "sve" not in target.features:
        return text
    return _DEFINITION.sub(r"\1 vscale_range(2,2) {", text)


@cache
def initialize(native_only: bool = True) -> None:
    """Register LLVM's code generators: this machine's, or all of them (30 ms) for foreign targets."""
    if native_only:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


def target_machine(target: TargetDescription, *, effort: int = 2) -> llvm.TargetMachine:
    """A new machine for a target, with an effort of code generation from 0 to 3."""
    initialize(native_only=target.arch == host_target().arch)
    cpu = _CPUS.get(target.arch, "generic")
    abi = level.abi if (level := level_of(target.arch, frozenset(target.features))) is not None else ""
    # A module of WebAssembly is alone in its memory, and finds by imports what is relative.
    reloc = "static" if target.arch.startswith("wasm") else "pic"
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=cpu, features=target.feature_string, opt=effort, reloc=reloc, codemodel="small", abiname=abi
    )


_KEPT = local()


def _kept_machine(target: TargetDescription, effort: int) -> llvm.TargetMachine:
    """
    A thread's LLVM machine for a target, kept until the thread asks for another target.

    The same for all kernels saves an eighth of LLVM's time, 1.5 ms a kernel: a machine parses the features of
    the target, and makes its tables of instructions, for the first module.
    """
    made = target, effort
    if vars(_KEPT).get("made") != made:
        _KEPT.machine, _KEPT.made = target_machine(target, effort=effort), made
    return _KEPT.machine


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
