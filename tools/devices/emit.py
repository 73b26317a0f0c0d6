"""`stepwell compile --emit gpu`, `--emit source`, and levels below for NVIDIA and AMD: kernels as text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.several import is_several
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.gpu import GPUModuleOp
    from stepwell.tools.driver.compilation import Compilation

DEVICE_LEVELS = ("gpu", "source", "commands", "npu")
"""What `--emit` writes for devices: the gpu level, source text, the host's commands, programs of the npu."""
_OF_MACHINES = ("llvm", "ll", "asm")
"""Levels below `gpu` on which kernels of `cuda` and `rocm` are written; `asm` is PTX, or assembly of AMD."""
_GPU, _COMMANDS, _NPU = "gpu", "commands", "npu"
_CUDA, _ROCM = "cuda", "rocm"
_KERNEL = re.compile(r"^([ \t]*)gpu\.func @", re.MULTILINE)
_MOST_OPT_LEVEL = 1
"""The highest optimization level: those above choose layouts for kernels of CPUs."""


def emit_for_device(model: Path, options: CompileOptions, level: str, output: Path | None) -> None:
    """
    Print the text of a level for a device, or write it to a file, with the weights beside it.

    Raises: StepwellError `bad-option` for a target that is no GPU; `unsupported-target`, `unsupported` of
    `emit_kernels`; of the pass that failed.
    """
    from stepwell.tools.driver.ir_files import write_ir

    if level in (_COMMANDS, _NPU):
        text = commands_text(model, options) if level == _COMMANDS else programs_text(model, options)
        _write(text, output)
        return
    target = _target(options)
    if target is None and level != _GPU:
        message = "--emit source is for a device: --target webgpu, opencl or metal"
        raise StepwellError("bad-option", None, message, help="`stepwell targets` lists the kinds")
    module, ctx = kernels_of(model, options)
    text = _text(module, level, target)
    if level == _GPU and output is not None:
        write_ir(output, text, ctx)
    else:
        _write(text, output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)


def is_for_device(options: CompileOptions, level: str) -> bool:
    """Whether `--emit` of a level writes the kernels of a device. Raises: StepwellError `bad-target`, …"""
    if level in DEVICE_LEVELS:
        return True
    if level not in _OF_MACHINES or options.target is None or is_several(options.target):
        return False
    return Target(options.target).kind in (_CUDA, _ROCM)


def gpu_of(options: CompileOptions) -> Target | None:
    """The GPU that options are for; None for a CPU, an accelerator, or several devices."""
    if options.target is None or is_several(options.target):
        return None
    target = Target(options.target)
    return target if _GPU in target.keys else None


def _text(module: ModuleOp, level: str, target: Target | None) -> str:
    """The kernels of a module at a level. Raises: StepwellError of `emit_kernels`, `emit_ptx`, …"""
    from stepwell.lowering.device_code import lowered_kernels
    from stepwell.lowering.emit_amdgcn import emit_amdgcn
    from stepwell.lowering.emit_llvm import emit_llvm
    from stepwell.lowering.emit_ptx import emit_ptx
    from stepwell.lowering.emit_source import emit_kernels
    from stepwell.passes.instruments import module_text

    if target is None or level == _GPU:
        return _with_nodes(module_text(module), module)
    if level == "llvm":
        return module_text(lowered_kernels(module, target))
    if level == "ll":
        return emit_llvm(lowered_kernels(module, target))
    if target.kind == _ROCM:
        return emit_amdgcn(module, target)
    if level == "asm" or target.kind == _CUDA:
        return emit_ptx(module, target).text
    return "\n\n".join(kernel.text for kernel in emit_kernels(module, target)) + "\n"


def _with_nodes(text: str, module: ModuleOp) -> str:
    """The text with the nodes of the model above each kernel, as comments."""
    from stepwell.dialects.gpu import GPUFuncOp
    from stepwell.dialects.gpu.nodes import node_lines

    kernels = iter([op for op in module.walk() if isinstance(op, GPUFuncOp)])

    def lines(found: re.Match[str]) -> str:
        return "".join(f"{found[1]}// {line}\n" for line in node_lines(next(kernels))) + found[0]

    return _KERNEL.sub(lines, text)


def commands_text(model: Path, options: CompileOptions) -> str:
    """The commands of each device part of a model. Raises: StepwellError of the pass that failed."""
    from stepwell.dialects import graph
    from stepwell.dialects.graph.host import payload_bytes
    from stepwell.runtime.devices.part import DevicePart
    from stepwell.runtime.host import DEVICE
    from stepwell.tools.driver.devices.chosen import chosen_devices
    from stepwell.tools.driver.devices.refused_ops import with_refused_on_host
    from stepwell.tools.driver.emit import lower_to
    from stepwell.tools.driver.partitions import compile_partitions

    if not chosen_devices(options):
        message = "--emit commands is for a device: --target webgpu, --device gpu-interpreter"
        raise StepwellError("bad-option", None, message, help="`stepwell devices` lists them")

    def attempt(options: CompileOptions) -> Compilation:
        compilation = lower_to(model, options, "graph")
        compile_partitions(compilation, options)
        return compilation

    compilation = with_refused_on_host(options, attempt)
    calls = [op for op in compilation.module.walk() if isinstance(op, graph.HostCallOp)]
    parts = [payload_bytes(op, compilation.ctx.weights) for op in calls if op.kind.data == DEVICE]
    return "".join(f"{DevicePart.from_bytes(part).emitted()}\n" for part in parts)


def programs_text(model: Path, options: CompileOptions) -> str:
    """The programs of the accelerator for a model. Raises: StepwellError of the pass that failed."""
    from stepwell.dialects.npu import ProgramOp
    from stepwell.passes.manager import run_pipeline
    from stepwell.passes.pipelines import NPU_PIPELINE
    from stepwell.tools.driver.devices.chosen import device_target
    from stepwell.tools.driver.emit import lower_to

    target = device_target(options)
    if target is None or target.kind != _NPU:
        raise StepwellError("bad-option", None, "--emit npu is for the accelerator", help="--device npu")
    compilation = lower_to(model, options, "graph")
    steps = f"convert-graph-to-npu{{config={target['config']}}},{NPU_PIPELINE}"
    run_pipeline(compilation.module, steps, compilation.ctx)
    programs = [op for op in compilation.module.ops if isinstance(op, ProgramOp)]
    return "".join(str(program) + "\n" for program in programs)


def kernels_of(model: Path, options: CompileOptions) -> tuple[ModuleOp, StepwellContext]:
    """A model, or a program of the gpu level, as kernels of a device. Raises: as `emit_for_device`."""
    from stepwell.dialects.sched import TARGET
    from stepwell.dialects.target import SpecAttr
    from stepwell.passes.pipelines import gpu_pipeline
    from stepwell.runtime.machine.precisions import F32, TF32
    from stepwell.tools.driver.emit import lower_to

    target = _target(options)
    host = None if target is None or target.host is None else str(target.host)
    level, precision = min(options.opt_level, _MOST_OPT_LEVEL), options.precision
    of_types = F32 if precision == TF32 else precision
    ours = replace(options, target=host, opt_level=level, precision=of_types)
    if (written := _written_kernels(model)) is not None:
        return written
    compilation = lower_to(model, ours, "linalg", target)
    if target is not None:  # of a program on level 2, too
        compilation.module.attributes[TARGET] = SpecAttr.of(target.with_host(None))
    compilation.run("loop", gpu_pipeline(precision))
    for op in _modules(compilation.module):
        if target is not None:
            op.attributes[TARGET] = SpecAttr.of(target.with_host(None))
    return compilation.module, compilation.ctx


def _written_kernels(model: Path) -> tuple[ModuleOp, StepwellContext] | None:
    """The module of a file that has kernels already; None for others. Raises: StepwellError `syntax`, …"""
    from stepwell.tools.driver.reading import is_ir

    if not is_ir(model):
        return None
    module, ctx = read_kernels(Path(model))
    return (module, ctx) if _modules(module) else None


def read_kernels(model: Path) -> tuple[ModuleOp, StepwellContext]:
    """A file of IR as a verified module, whatever its `@main` takes. Raises: StepwellError `syntax`, …"""
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.tools.driver.ir_files import read_ir
    from stepwell.tools.driver.written_program import verify_written

    ctx = StepwellContext()
    module = read_ir(model, ctx)
    verify_written(module)
    return module, ctx


def _modules(module: ModuleOp) -> list[GPUModuleOp]:
    from stepwell.dialects.gpu import GPUModuleOp

    return [op for op in module.body.block.ops if isinstance(op, GPUModuleOp)]


def _target(options: CompileOptions) -> Target | None:
    """The device of options; None without one. Raises: StepwellError `bad-option`."""
    if options.target is None:
        return None
    if is_several(options.target):
        message = f"--emit gpu and source are for one device, and the target is {options.target}"
        raise StepwellError("bad-option", None, message, help="--emit commands has the parts of several")
    target = Target(options.target)
    if _GPU not in target.keys:
        message = f"--emit gpu and source are for GPUs, and the target is {target}"
        raise StepwellError("bad-option", None, message, help="--target webgpu, opencl, metal or cuda")
    return target
