"""A launcher of kernels as PTX for the interpreter, which runs the program of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.limits import dynamic_bytes
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.interpret.machine import Launcher
from stepwell.lowering.interpret.ptx.machine import Buffer, PtxProgram
from stepwell.runtime.devices.base import Triple
from stepwell.runtime.devices.signatures import POINTER
from stepwell.runtime.machine.named_target import Target


def ptx_launcher(module: ModuleOp, target: Target) -> Launcher:
    """A launcher of a module's kernels as PTX on arrays of the host. Raises: StepwellError of `emit_ptx`."""
    emitted = emit_ptx(module, target)
    program = PtxProgram(emitted.text)

    def launch(function: Operation, grid: Sequence[int], values: Sequence[Any]) -> None:
        assert isinstance(function, gpu.GPUFuncOp)
        kernel = emitted.kernels[function]
        arrays: dict[int, Any] = {n: each for n, each in enumerate(values) if isinstance(each, np.ndarray)}
        passed = [_value(values[p.argument], p.type, p.dim) for p in kernel.parameters]
        buffers = [_buffer(function.arguments[n], array) for n, array in arrays.items()]
        sizes = _triple(grid), _triple(kernel.block)
        program.launch(kernel.name, *sizes, passed, buffers, shared_bytes=dynamic_bytes(function))

    return launch


def _value(given: Any, type: str, dim: int | None) -> Any:
    """An address, a size, or a number."""
    if dim is not None:
        return given.shape[dim]
    return given.ctypes.data if type == POINTER else given


def _buffer(argument: SSAValue, array: Any) -> Buffer:
    """The memory of an array, with the name of the kernel's argument."""
    low, high = np.lib.array_utils.byte_bounds(array)
    name = f"%{argument.name_hint}" if argument.name_hint else "an argument"
    return Buffer(low, high - low if array.size else 0, name)


def _triple(sizes: Sequence[int]) -> Triple:
    x, y, z = sizes
    return x, y, z
