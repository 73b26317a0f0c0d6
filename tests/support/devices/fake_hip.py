"""The driver of AMD in memory of the host: NVIDIA's by other names, with kernels of the gpu level as PTX."""

from __future__ import annotations

import ctypes
from typing import Any

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.interpret.ptx import PtxProgram
from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.runtime.machine.named_target import Target
from tests.support.devices.fake_cuda import FakeCuda

_SAME = {
    "hipGetDeviceCount": "cuDeviceGetCount", "hipDeviceGetName": "cuDeviceGetName",
    "hipDeviceTotalMem": "cuDeviceTotalMem_v2", "hipMalloc": "cuMemAlloc_v2", "hipFree": "cuMemFree_v2",
    "hipHostMalloc": "cuMemHostAlloc", "hipHostFree": "cuMemFreeHost", "hipMemGetInfo": "cuMemGetInfo_v2",
    "hipMemcpyHtoDAsync": "cuMemcpyHtoDAsync_v2", "hipMemcpyDtoHAsync": "cuMemcpyDtoHAsync_v2",
    "hipMemcpyDtoDAsync": "cuMemcpyDtoDAsync_v2", "hipModuleUnload": "cuModuleUnload",
    "hipModuleGetFunction": "cuModuleGetFunction", "hipModuleLaunchKernel": "cuLaunchKernel",
    "hipStreamCreateWithFlags": "cuStreamCreate", "hipStreamDestroy": "cuStreamDestroy_v2",
    "hipStreamSynchronize": "cuStreamSynchronize", "hipStreamBeginCapture": "cuStreamBeginCapture_v2",
    "hipStreamEndCapture": "cuStreamEndCapture",
    "hipGraphInstantiateWithFlags": "cuGraphInstantiateWithFlags", "hipGraphDestroy": "cuGraphDestroy",
    "hipGraphExecDestroy": "cuGraphExecDestroy", "hipGraphLaunch": "cuGraphLaunch", "hipInit": "cuInit",
}  # fmt: skip
"""Functions with the arguments of NVIDIA's."""
_ERRORS = {
    2: (b"hipErrorOutOfMemory", b"out of memory"),
    700: (b"hipErrorIllegalAddress", b"illegal address"),
}
_ARCH_OFFSET = 1160
"""The place of the architecture's name in the structure of properties; no caller may depend on it."""


class _Text:
    """A function that returns text, whatever type is noted for its result."""

    restype: Any = None

    def __init__(self, position: int):
        self._position = position

    def __call__(self, status: Any) -> bytes:
        return _ERRORS[status.value][self._position]


class FakeHip(FakeCuda):
    """
    The functions of the driver as methods.

    Args: `kernels` is the text of the gpu level of what will be loaded, since nothing here runs code of AMD;
    `gpu` is the GPU's architecture, the rest is as for NVIDIA.
    """

    hipGetErrorName, hipGetErrorString = _Text(0), _Text(1)

    def __init__(
        self, kernels: bytes, gpu: str = "gfx942", fails_at: int | None = None, is_gone: bool = False
    ):
        super().__init__(fails_at=fails_at, is_gone=is_gone)
        self._kernels, self._gpu = kernels, gpu
        for ours, theirs in _SAME.items():
            setattr(self, f"_{ours}", object.__getattribute__(self, f"_{theirs}"))

    def _hipGetDevicePropertiesR0600(self, out: Any, number: Any) -> str:
        text = f"{self._gpu}:sramecc+:xnack-".encode() + b"\0"
        ctypes.memmove(ctypes.addressof(out) + _ARCH_OFFSET, text, len(text))
        return str(number.value)

    def _hipSetDevice(self, number: Any) -> str:
        return str(number.value)

    def _hipModuleLoadData(self, out: Any, image: Any) -> str:
        address = ctypes.cast(image, ctypes.c_void_p).value or 0
        found = read_code_object(ctypes.string_at(address, _file_bytes(address)))
        program = PtxProgram(
            emit_ptx(parse_module(StepwellContext(), self._kernels.decode()), Target("cuda")).text
        )
        assert program.entries.keys() == found.kernels.keys()
        return f"{self._handle(out, 'module', program)} {found.arch}"


def _file_bytes(address: int) -> int:
    """The size of a file in memory: that of the section table is its end."""
    start = int.from_bytes(ctypes.string_at(address + 40, 8), "little")
    return start + 64 * int.from_bytes(ctypes.string_at(address + 60, 2), "little")
