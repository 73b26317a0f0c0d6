"""`stepwell run KERNEL.mlir --device gpu-interpreter`, or `ptx-interpreter`: kernels, checked as they run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.runtime.machine.named_target import Target
from stepwell.tools.devices.emit import read_kernels
from stepwell.tools.inputs import completed_inputs, expect_fitting, read_arrays

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from stepwell.lowering.interpret import Launcher

_PTX = "ptx-interpreter"
DEVICES = ("gpu-interpreter", _PTX)
MAIN, _CUDA = "main", "cuda"
_MARKS = ("gpu.launch", "gpu.module", "gpu.func")
"""Texts that only programs with kernels have."""


def is_kernel_run(args: Namespace) -> bool:
    """Whether a device is named and the model is a program whose own `@main` launches kernels."""
    if args.device is None or args.model.suffix != ".mlir":
        return False
    try:
        text = args.model.read_text("utf-8")
    except (OSError, ValueError):
        return False  # reported by the reader
    return any(mark in text for mark in _MARKS)


def run_kernel(args: Namespace) -> dict[str, Array]:
    """The buffers of `@main` of a file of IR after it ran, by name. Raises: StepwellError."""
    if args.device not in DEVICES:
        help = f"{did_you_mean(args.device, DEVICES)}the devices are {', '.join(DEVICES)}"
        raise StepwellError("no-device", None, f"no device is named {args.device!r} here", help=help)
    from stepwell.lowering.interpret import interpret

    module, ctx = read_kernels(args.model)
    names, interface = _interface(_main(module, str(args.model)))
    given = read_arrays(args.inputs) if args.inputs is not None else {}
    feeds: Mapping[str, Array] = completed_inputs(
        interface, given, args.seed, dict(args.input_shape), args.fill
    )
    expect_fitting(interface, feeds)
    values = [feeds[name] if feeds[name].ndim else feeds[name][()] for name in names]
    elsewhere = _ptx_launcher(module) if args.device == _PTX else None
    arrays = [np.ascontiguousarray(value) for value in values]
    results = interpret(module, ctx, MAIN, arrays, launcher=elsewhere)
    return dict(zip([spec.name for spec in interface.outputs], results, strict=False))


def _ptx_launcher(module: ModuleOp) -> Launcher:
    """A launcher of a module's kernels as PTX, for their own target or the default of `cuda`."""
    from stepwell.dialects.gpu import GPUModuleOp
    from stepwell.dialects.sched import TARGET
    from stepwell.dialects.target import SpecAttr
    from stepwell.lowering.interpret import ptx_launcher

    found = [op.attributes.get(TARGET) for op in module.ops if isinstance(op, GPUModuleOp)]
    targets = [each.target() for each in found if isinstance(each, SpecAttr)]
    return ptx_launcher(module, next((each for each in targets if each.kind == _CUDA), Target(_CUDA)))


def _main(module: object, file: str) -> FuncOp:
    """The function that launches kernels. Raises: StepwellError `unknown-function`."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    assert isinstance(module, ModuleOp)
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == MAIN and op.body.blocks:
            return op
    help = "add `func.func @main(…)` with a `gpu.launch_func` of the kernel"
    raise StepwellError("unknown-function", file, "no function @main launches the kernels", help=help)


def _interface(main: FuncOp) -> tuple[list[str], Interface]:
    """The names of the arguments, and their types; the buffers are outputs too."""
    from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType

    from stepwell.lowering.interpret import numpy_dtype

    specs: list[TensorSpec] = []
    for number, argument in enumerate(main.body.block.args):
        name, type = argument.name_hint or f"arg{number}", argument.type
        if not isinstance(type, MemRefType) and not isinstance(type, IndexType):
            raise StepwellError(
                "unsupported", main, f"argument {name} is {type}: expected a buffer or an index"
            )
        shape = type.get_shape() if isinstance(type, MemRefType) else ()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        dims = [Dim.of(f"{name}_{d}" if n == DYNAMIC_INDEX else n) for d, n in enumerate(shape)]
        specs.append(TensorSpec(name, numpy_dtype(type), tuple(dims)))  # pyright: ignore[reportUnknownArgumentType]
    outputs = tuple(spec for spec in specs if spec.dims or spec.dtype != np.dtype(np.int64))
    return [spec.name for spec in specs], Interface(tuple(specs), outputs, (), Dim.of(0))
