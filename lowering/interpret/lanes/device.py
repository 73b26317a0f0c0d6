"""The device `gpu-interpreter`: text of the gpu level, all threads as lanes of numpy arrays, with checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret.machine import Kernels
from stepwell.runtime.devices.base import Argument, Bytes, Device, DeviceInfo, Memory, Triple, View, text_of
from stepwell.runtime.interface import Array
from stepwell.runtime.memory import aligned_empty


class GpuInterpreter(Device):
    """Runs kernels as they are on the gpu level; the memory is the host's."""

    kind = "gpu-interpreter"
    formats: ClassVar[Sequence[str]] = ("gpu",)
    survives_fork: ClassVar[bool] = True

    @property
    def info(self) -> DeviceInfo:
        name = f"{self.kind}:{self.number}"
        about = "the gpu level in numpy, checked for races, barriers and bounds"
        return DeviceInfo(name, self.kind, about, is_software=True)

    def allocate(self, nbytes: int) -> Memory:
        return Memory(nbytes, aligned_empty(nbytes))

    def free(self, memory: Memory) -> None:
        memory.handle = None

    def host_view(self, memory: Memory) -> Bytes:
        return memory.handle

    def adopted(self, data: Bytes) -> Memory:
        return Memory(data.size, data)

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        memory.handle[offset : offset + array.size] = array

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        array[...] = memory.handle[offset : offset + array.size]

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        to.handle[to_offset : to_offset + nbytes] = source.handle[offset : offset + nbytes]

    def load(self, code: bytes, format: str) -> Kernels:
        ctx = StepwellContext()
        return Kernels(parse_module(ctx, text_of(code), "kernels"), ctx)

    def launch(
        self,
        program: Kernels,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        values: list[Any] = [_array(each) if isinstance(each, View) else each for each in arguments]
        program.launch(kernel, grid, block, values, shared_bytes)


def _array(view: View) -> Array:
    """The elements of a view."""
    piece = view.memory.handle[view.offset : view.offset + view.nbytes]
    return np.asarray(piece).view(view.dtype).reshape(view.shape)
