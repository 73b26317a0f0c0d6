"""The native functions of a program: the bytecode's instructions as machine code."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.vm_to_llvm import ARRAY_CALL, SHARED, native_problem, shared_code
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import NATIVE_PIPELINE
from stepwell.runtime.dims import Dim
from stepwell.runtime.image import Entry, Variant
from stepwell.runtime.interface import Interface
from stepwell.runtime.machine.loader import linked
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.vm.native_tables import is_fixed
from stepwell.runtime.vm.program import Program
from stepwell.tools.driver.compilation import Compilation

_NO_INTERFACE = Interface((), (), (), Dim.of("0"))


def without_native_code(program: Program, segments: Mapping[str, Entry]) -> str:
    """Why a program has no native functions, in words; empty when it can have them."""
    if (problem := native_problem(program)) is not None:
        return str(problem)
    for packed in program.packed:
        if is_fixed(packed) and _needs_python(segments[packed.name]):
            return f"@{packed.name} calls functions of Python"
    return ""


def _needs_python(entry: Entry) -> bool:
    return bool(entry.slots or entry.callees or entry.objects_per_call or entry.timed)


def native_functions(compilation: Compilation) -> Entry:
    """The entry of a program's native functions. Changes nothing. Raises: StepwellError of the pass."""
    target = compilation.ctx.target
    module = llvm_module(compilation)
    text = _without_declarations(emit_llvm(module)) + shared_code()
    code = linked([compile_to_object(text, target, optimize=True)])
    return Entry(_NO_INTERFACE, (Variant(target.triple, target.needed_features, code),))


def array_calls(target: TargetDescription) -> Entry:
    """The entry of the function by which the machine calls segments."""
    code = linked([compile_to_object(ARRAY_CALL, target, optimize=True)])
    return Entry(_NO_INTERFACE, (Variant(target.triple, target.needed_features, code),))


def llvm_module(compilation: Compilation) -> ModuleOp:
    """The native functions of a program of level `vm` in the `llvm` dialect."""
    module = compilation.module.clone()
    run_pipeline(module, NATIVE_PIPELINE, compilation.ctx)
    for op in list(module.ops):
        if isinstance(op, FuncOp):
            op.detach()
            op.erase()
    return module


def _without_declarations(text: str) -> str:
    """LLVM IR without the declarations of functions that other modules define."""
    names = tuple(f"@{name}(" for name in SHARED)
    lines = text.splitlines(keepends=True)
    return "".join(
        line for line in lines if not (line.startswith("declare") and any(name in line for name in names))
    )
