"""The driver of NVIDIA by ctypes: calls that are checked, and errors with the driver's own text."""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

from stepwell.runtime.devices.driver.calls import Driver, Found, Names
from stepwell.runtime.errors import StepwellError

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_MAJOR, _MINOR = 75, 76
"""The attributes of a device with its compute capability."""
_INFO_LOG, _INFO_BYTES, _ERROR_LOG, _ERROR_BYTES = 3, 4, 5, 6
"""The options of the compiler for the buffers of its log."""
_LOG_BYTES = 1 << 14
_LINE = re.compile(r"line (\d+)")


_NAMES = Names(
    device_count="cuDeviceGetCount",
    allocate="cuMemAlloc_v2", free="cuMemFree_v2", memory="cuMemGetInfo_v2",
    copy_in="cuMemcpyHtoDAsync_v2", copy_out="cuMemcpyDtoHAsync_v2", copy="cuMemcpyDtoDAsync_v2",
    pin="cuMemHostAlloc", unpin="cuMemFreeHost",
    unload="cuModuleUnload", function="cuModuleGetFunction", launch="cuLaunchKernel",
    begin_capture="cuStreamBeginCapture_v2", destroy_stream="cuStreamDestroy_v2", wait="cuStreamSynchronize",
    end_capture="cuStreamEndCapture", instantiate="cuGraphInstantiateWithFlags",
    destroy_graph="cuGraphDestroy", replay="cuGraphLaunch", destroy_recording="cuGraphExecDestroy",
)  # fmt: skip


class CudaDriver(Driver):
    """The library of the driver, initialized."""

    names = _NAMES

    def __init__(self, library: Any):
        """Raises: StepwellError `no-device` when the driver cannot be initialized."""
        super().__init__(library)
        if status := library.cuInit(c_uint(0)):
            message = f"no cuda device is here: the driver does not start: {self.text_of(status)}"
            raise StepwellError("no-device", None, message, help=_HELP)

    def text_of(self, status: int) -> str:
        texts: list[str] = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if not getattr(self.library, function)(c_int(status), byref(text)) and text.value:
                texts.append(text.value.decode("utf-8", "replace"))
        return ": ".join(texts) or f"error {status}"

    def _described(self, number: int) -> Found:
        device, memory, name = c_int(), c_size_t(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", byref(device), c_int(number))
        self.call("cuDeviceGetName", name, c_int(len(name)), device)
        self.call("cuDeviceTotalMem_v2", byref(memory), device)
        version = [c_int(), c_int()]
        for value, attribute in zip(version, (_MAJOR, _MINOR), strict=True):
            self.call("cuDeviceGetAttribute", byref(value), c_int(attribute), device)
        arch = f"sm_{version[0].value}{version[1].value}"
        return Found(number, name.value.decode("utf-8", "replace"), arch, memory.value)

    def module(self, text: str) -> c_void_p:
        """
        PTX compiled by the driver.

        Raises: StepwellError `driver` with the log of its compiler, and the line that it names.
        """
        module, logs = c_void_p(), [ctypes.create_string_buffer(_LOG_BYTES) for _ in range(2)]
        kinds = (c_int * 4)(_INFO_LOG, _INFO_BYTES, _ERROR_LOG, _ERROR_BYTES)
        size = c_void_p(_LOG_BYTES)
        values = (c_void_p * 4)(ctypes.addressof(logs[0]), size.value, ctypes.addressof(logs[1]), size.value)
        image = c_char_p(text.encode())
        status = self.library.cuModuleLoadDataEx(byref(module), image, c_uint(4), kinds, values)
        if not status:
            return module
        log = " ".join(logs[1].value.decode("utf-8", "replace").split())
        note = [f"its compiler says: {log}"] if log else []
        if (found := _LINE.search(log)) is not None:
            lines = text.splitlines()
            number = int(found[1])
            note += [f"line {number}: {lines[number - 1].strip()}"] if 0 < number <= len(lines) else []
        error = self.error("cuModuleLoadDataEx", status)
        for line in note:
            error = error.with_note(line)
        raise error


_HELP = "`stepwell devices` lists what is here; --device ptx-interpreter runs the code without a GPU"


@cache
def driver() -> CudaDriver:
    """The driver of this machine. Raises: StepwellError `no-device` where there is none."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return CudaDriver(library)
    message = f"no cuda device is here: {_LIBRARIES[0]} cannot be loaded"
    raise StepwellError("no-device", None, message, help=_HELP)
