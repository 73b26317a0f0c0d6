"""The whole program of a model at one level: as IR text, LLVM IR, assembly or an object file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.sched import TARGET
from stepwell.dialects.sched_program import planned_program
from stepwell.dialects.target import SpecAttr
from stepwell.lowering.kernels.kernel import llvm_text
from stepwell.lowering.kernels.machine import compile_to_object, emit_assembly
from stepwell.passes.instruments import module_text
from stepwell.passes.pass_limit import numbered
from stepwell.passes.pipelines import C_PIPELINE, LEVELS, LLVM_PIPELINE, PROGRAM_SCHEDULE_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import write_bytes, write_text
from stepwell.runtime.image import MAIN, ModelImage
from stepwell.runtime.machine.target import C_TARGET, expect_machine
from stepwell.tools.driver.compilation import (
    Compilation,
    is_bytecode,
    is_functional,
    is_lowered,
    is_on_loops,
    main_of,
)
from stepwell.tools.driver.image import summary
from stepwell.tools.driver.ir_files import write_ir
from stepwell.tools.driver.levels import chosen_passes, to_graph, to_level_1
from stepwell.tools.driver.model_attribute import described_entry, image_of, is_on_machine, to_loops
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import check_program, start
from stepwell.tools.driver.tensor_program import to_level_2

if TYPE_CHECKING:
    from stepwell.lowering.export import CProgram
    from stepwell.runtime.machine.named_target import Target
    from stepwell.tools.driver.options import ModelFile

VM = "vm"
"""The name of the machine's level, for programs with functions, data or cells."""


def lower_to(
    model: Path | Program, options: CompileOptions, level: str, device: Target | None = None
) -> Compilation:
    """
    The model's module at a level: `onnx`, `graph`, `linalg`, `vector` (tiled and vectorized), `loops`,
    `llvm`.

    Args: `device` is the GPU that its kernels are for.
    Raises: StepwellError of the pass that failed.
    """
    with numbered():
        return _lowered_to(model, options, LEVELS.index(level), device)


def _lowered_to(
    model: Path | Program, options: CompileOptions, position: int, device: Target | None
) -> Compilation:
    compilation = start(model, options)
    if device is not None:
        compilation.module.attributes[TARGET] = SpecAttr.of(device.with_host(None))
    if position >= LEVELS.index("llvm"):
        expect_machine(compilation.ctx.target)
    if is_functional(compilation.module) and position >= LEVELS.index("graph"):
        from stepwell.tools.driver.functional import without_functions

        if not without_functions(compilation):
            if position > LEVELS.index("graph"):
                raise StepwellError(
                    "bad-option",
                    None,
                    f"a program with functions, data or cells has no level {LEVELS[position]}",
                    help="its instructions, and segments of level graph, are --emit vm",
                )
            return compilation
        check_program(compilation, options)
    _require_above(compilation.module, position)
    if is_on_loops(compilation.module):
        if position >= LEVELS.index("llvm") and not is_on_machine(compilation.module):
            compilation.run("llvm", LLVM_PIPELINE)
        return compilation
    if position >= LEVELS.index("graph"):
        to_level_1(compilation, options)
    if position >= LEVELS.index("linalg"):
        to_level_2(compilation, options)
    if position >= LEVELS.index("vector"):
        with chosen_passes(options).active():
            compilation.run("tensor", PROGRAM_SCHEDULE_PIPELINE)
    if position >= LEVELS.index("loops"):
        to_loops(compilation, read_interface(main_of(compilation.module)))
    if position >= LEVELS.index("llvm"):
        compilation.run("llvm", LLVM_PIPELINE)
    return compilation


def _require_above(module: ModuleOp, wanted: int) -> None:
    """Refuse a level above the program's own: a lowered program cannot be raised."""
    found = "llvm" if is_on_machine(module) else "loops" if is_on_loops(module) else "linalg"
    if is_lowered(module) and wanted < LEVELS.index(found):
        message = f"the program is on level {found} already: nothing leads back up to {LEVELS[wanted]}"
        raise StepwellError("bad-option", module, message)


def bytecode_of(model: Path | Program, options: CompileOptions) -> Compilation:
    """
    The model's module at the level of the machine: instructions and segments; a program of tensors is one.

    Raises: StepwellError of the pass that failed.
    """
    from stepwell.tools.driver.functional import to_bytecode, without_functions

    with numbered():
        compilation = start(model, options)
        if is_bytecode(compilation.module):
            return compilation
        if not is_functional(compilation.module):
            to_graph(compilation)
        without_functions(compilation)
        to_bytecode(compilation)
    return compilation


def emit(model: Path | Program, options: CompileOptions, level: str) -> str:
    """The text of a level. Raises: StepwellError of the pass that failed."""
    if level == VM:
        return module_text(bytecode_of(model, options).module).removesuffix("\n")
    if level in ("ll", "asm"):
        compilation = lower_to(model, options, "llvm")
        text = llvm_text(compilation.module, compilation.ctx.target)
        return text if level == "ll" else emit_assembly(text, compilation.ctx.target, optimize=False)
    return module_text(lower_to(model, options, level).module).removesuffix("\n")


def emit_file(model: Path, options: CompileOptions, level: str, output: Path) -> None:
    """
    Write the text of a level to a file; for IR, also the file of its weights.

    Raises: StepwellError of the pass that failed, `cannot-write`.
    """
    if level in ("ll", "asm"):
        write_text(output, emit(model, options, level))
        return
    compilation = bytecode_of(model, options) if level == VM else lower_to(model, options, level)
    write_ir(output, module_text(compilation.module), compilation.ctx)


def emit_object_file(model: Path, options: CompileOptions, output: Path) -> None:
    """Write the whole model as one object file. Raises: StepwellError, `cannot-write` among others."""
    compilation = lower_to(model, options, "llvm")
    text = llvm_text(compilation.module, compilation.ctx.target)
    code = compile_to_object(text, compilation.ctx.target, optimize=False)
    write_bytes(output, code)


def c_program(model: ModelFile | Program, options: CompileOptions, pools: Sequence[str] = ()) -> CProgram:
    """
    A model as a program in C.

    Args: `pools` are memories of fixed sizes, such as `tcm=4096`, in place of one workspace.
    Raises: StepwellError of the pass that failed, `bad-option`, `too-large` where the pools are too small.
    """
    from stepwell.lowering.emit_c import stack_bytes
    from stepwell.lowering.export import CProgram

    if options.profile:
        raise StepwellError("bad-option", None, "C source has no clock: profile does not go with it")
    options = for_c(options)
    compilation = _on_loops(cast("Path | Program", model), options, pools)
    entry, arrays = described_entry(compilation)
    entry = entry._replace(pools=planned_program(main_of(compilation.module)).pool_bytes)
    compilation.run("C", C_PIPELINE)
    count = len(entry.weights)
    return CProgram(
        compilation.module,
        compilation.ctx.weights,
        {"": entry},
        arrays[:count],
        compilation.ctx.target.triple,
        {"": stack_bytes(compilation.module)},
        dict(compilation.counts),
    )


def image_with_pools(model: ModelFile | Program, options: CompileOptions, pools: Sequence[str]) -> ModelImage:
    """
    A compiled model for an exported file, whose memory is in pools of fixed sizes, such as `tcm=4096`.

    Raises: StepwellError of the pass that failed, `bad-option`, `too-large` where the pools are too small.
    """
    for option, is_chosen in _without_pools(options).items():
        if is_chosen:
            message = f"{option} does not go with memory pools, which are those of one function"
            raise StepwellError("bad-option", None, message, help="leave --memory-pools out")
    expect_machine(options.description())
    compilation = _on_loops(cast("Path | Program", model), options, pools)
    used = planned_program(main_of(compilation.module)).pool_bytes
    image = image_of(compilation)
    entry = image.main._replace(pools=used)
    return image._replace(
        functions={MAIN: entry}, summary=summary(compilation, entry.interface, image.weights)
    )


def _without_pools(options: CompileOptions) -> dict[str, bool]:
    """The options that make several functions or record times, and whether they are chosen."""
    return {
        "profile": options.profile,
        "greedy": options.greedy,
        "specialize": bool(options.specialize),
        "keep_values": options.keep_values,
    }


def _on_loops(model: Path | Program, options: CompileOptions, pools: Sequence[str]) -> Compilation:
    """A model on level 3, with its memory in pools. Raises: as `c_program`."""
    if not pools:
        return lower_to(model, options, "loops")
    compilation = lower_to(model, options, "vector")
    if is_on_loops(compilation.module):
        message = "the memory of the program is planned already: it is on level loops"
        raise StepwellError("bad-option", None, message, help="leave --memory-pools out")
    to_loops(compilation, read_interface(main_of(compilation.module)), pools)
    return compilation


def for_c(options: CompileOptions) -> CompileOptions:
    """Options with C as their target. Raises: StepwellError `bad-option` where they name another one."""
    if options.mcpu == "host" and options.target is None:
        return replace(options, mcpu=C_TARGET)
    if options.mcpu != C_TARGET or options.target is not None:
        message = f"C source is for no CPU, and the target is {options.target or options.mcpu}"
        raise StepwellError("bad-option", None, message, help=f"--target {C_TARGET}, or leave it out")
    return options
