"""Programs of the accelerator in files: `stepwell run F.mlir --device npu`, `stepwell inspect F.npu`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.runtime.npu.encoded import Encoded
from stepwell.tools.devices.emit import read_kernels
from stepwell.tools.inputs import completed_inputs, expect_fitting, read_arrays

if TYPE_CHECKING:
    from xdsl.dialects.builtin import MemRefType
    from xdsl.ir import Attribute

    from stepwell.dialects.npu import ProgramOp

NPU, NPU_SUFFIX = "npu", ".npu"
_MARKS = ("npu.program", "npu.binary")
"""Texts that only files with programs have."""
_MOST_BYTES = 1 << 25
"""More than a program with all instructions and micro-ops has."""


def is_npu_run(args: Namespace) -> bool:
    """Whether the file is bytes of a program, or a text with programs while the device is the accelerator."""
    if args.model.suffix == NPU_SUFFIX:
        return True
    if args.device != NPU or args.model.suffix != ".mlir":
        return False
    try:
        text = args.model.read_text("utf-8")
    except (OSError, ValueError):
        return False  # reported by the reader
    return any(mark in text for mark in _MARKS)


def run_npu(args: Namespace) -> dict[str, Array]:
    """
    The arrays that a program stores into, by name, after a run; those that are not given begin with zeros.

    Raises: StepwellError of the reader and of the simulator.
    """
    from stepwell.dialects import npu
    from stepwell.lowering.backends.npu import simulate

    program = read_program(args.model)
    stored = {op.argument for op in program.instructions if isinstance(op, npu.StoreOp)}
    interface = _interface(program, stored)
    given = read_arrays(args.inputs) if args.inputs is not None else {}
    zeros = {spec.name: np.zeros(_shape(spec), spec.dtype) for spec in interface.outputs}
    feeds = completed_inputs(interface, {**zeros, **given}, args.seed, {}, args.fill)
    expect_fitting(interface, feeds)
    arrays, report = simulate(program, [feeds[spec.name] for spec in interface.inputs])
    if args.profile:
        cycles = ", ".join(f"{stage} {count:,}" for stage, count in report.cycles.items())
        print(f"cycles: {cycles}; bytes in {report.bytes_in:,}, out {report.bytes_out:,}")
        args.facts |= {"cycles": dict(report.cycles), "bytes in": report.bytes_in}
    names = [spec.name for spec in interface.inputs]
    return {names[number]: arrays[number] for number in sorted(stored)}


def read_program(path: Path) -> ProgramOp:
    """The only program of a file, text or bytes. Raises: StepwellError."""
    from xdsl.dialects.builtin import ModuleOp

    from stepwell.dialects import npu
    from stepwell.lowering.backends.npu import program_of
    from stepwell.tools.driver.written_program import verify_written

    if path.suffix == NPU_SUFFIX:
        program = program_of(_read_bytes(path))
        verify_written(ModuleOp([program]))
        return program
    module, _ = read_kernels(path)
    found = [op for op in module.ops if isinstance(op, npu.ProgramOp | npu.BinaryOp)]
    if len(found) != 1:
        names = ", ".join(f"@{op.sym_name.data}" for op in found)
        message = f"expected one program of the accelerator, found {names or 'none'}"
        raise StepwellError("unknown-function", str(path), message, help="put each into a file of its own")
    (op,) = found
    return program_of(op.encoded()) if isinstance(op, npu.BinaryOp) else op


def inspect_npu(args: Namespace) -> int:
    """Print the program of a file of bytes; returns the exit status."""
    program = read_program(args.model)
    args.facts |= {"name": program.sym_name.data, "config": program.config.data}
    args.facts["instructions"] = len(program.instructions)
    print(program)
    return 0


def _read_bytes(path: Path) -> Encoded:
    """The program of a file of bytes. Raises: StepwellError `no-file`, `bad-npu-program`."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise unreadable(path, "program", error) from None
    return Encoded.from_bytes(data)


def _interface(program: ProgramOp, stored: set[int]) -> Interface:
    """The arrays of a program; those that it stores into are results as well."""
    specs: list[TensorSpec] = []
    for number, argument in enumerate(program.body.block.args):
        type = cast("MemRefType[Attribute]", argument.type)
        dtype = np.dtype(np.int32 if str(type.element_type) == "i32" else np.int8)
        dims = tuple(map(Dim.of, type.get_shape()))
        specs.append(TensorSpec(argument.name_hint or f"arg{number}", dtype, dims))
    outputs = tuple(spec for number, spec in enumerate(specs) if number in stored)
    return Interface(tuple(specs), outputs, (), Dim.of(0))


def _shape(spec: TensorSpec) -> tuple[int, ...]:
    return tuple(dim.value for dim in spec.dims)
