"""The device `ptx-interpreter`: the PTX of kernels, all threads as lanes of numpy arrays, with checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from stepwell.lowering.interpret.lanes.device import GpuInterpreter
from stepwell.lowering.interpret.ptx.machine import Buffer, PtxProgram
from stepwell.runtime.devices.base import Argument, DeviceInfo, Triple, View, text_of
from stepwell.runtime.devices.signatures import Parameter, passed, signatures_of


class _Loaded(NamedTuple):
    """A program with the parameters of its kernels."""

    program: PtxProgram
    signatures: Mapping[str, tuple[Parameter, ...]]


class PtxInterpreter(GpuInterpreter):
    """Runs what was compiled for `cuda`, down to the last instruction; the memory is the host's."""

    kind = "ptx-interpreter"
    formats: ClassVar[Sequence[str]] = ("ptx",)

    @property
    def info(self) -> DeviceInfo:
        name = f"{self.kind}:{self.number}"
        about = "PTX in numpy, checked for races, barriers and bounds"
        return DeviceInfo(name, self.kind, about, is_software=True)

    def load(self, code: bytes, format: str) -> Any:
        text = text_of(code)
        return _Loaded(PtxProgram(text), signatures_of(text))

    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        loaded: _Loaded = program
        values = passed(kernel, loaded.signatures.get(kernel, ()), arguments)
        addresses = [_address(value) if isinstance(value, View) else value for value in values]
        buffers = [
            Buffer(_address(value), value.nbytes, f"argument {number}")
            for number, value in enumerate(arguments)
            if isinstance(value, View)
        ]
        loaded.program.launch(kernel, grid, block, addresses, buffers, shared_bytes=shared_bytes)


def _address(view: View) -> int:
    """The address of an array."""
    return int(view.memory.handle.ctypes.data) + view.offset
