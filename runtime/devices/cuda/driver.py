"""The driver of NVIDIA by ctypes: calls that are checked, and errors with the driver's own text."""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any, NamedTuple

from stepwell.runtime.errors import StepwellError

_LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
_OUT_OF_MEMORY = 2
_MAJOR, _MINOR = 75, 76
"""The attributes of a device with its compute capability."""
_INFO_LOG, _INFO_BYTES, _ERROR_LOG, _ERROR_BYTES = 3, 4, 5, 6
"""The options of the compiler for the buffers of its log."""
_LOG_BYTES = 1 << 14
_LINE = re.compile(r"line (\d+)")


class Found(NamedTuple):
    """A GPU as the driver describes it."""

    number: int
    name: str
    arch: str
    """`sm_90`."""
    memory_bytes: int


class Driver:
    """The library of the driver, initialized."""

    def __init__(self, library: Any):
        """Raises: StepwellError `no-device` when the driver cannot be initialized."""
        self.library = library
        if status := library.cuInit(c_uint(0)):
            message = f"no cuda device is here: the driver does not start: {self.text_of(status)}"
            raise StepwellError("no-device", None, message, help=_HELP)

    def call(self, name: str, *arguments: Any, what: str = "") -> None:
        """Call a function of the driver. Raises: StepwellError `driver`, `device-memory`."""
        if status := getattr(self.library, name)(*arguments):
            raise self.error(name, status, what)

    def error(self, name: str, status: int, what: str = "") -> StepwellError:
        """The error of a call that failed."""
        message = f"{name}{f' ({what})' if what else ''}: {self.text_of(status)}"
        if status == _OUT_OF_MEMORY:
            return StepwellError("device-memory", None, message)
        return StepwellError("driver", None, message)

    def text_of(self, status: int) -> str:
        """The driver's text of a status: `CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access …`."""
        texts: list[str] = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if not getattr(self.library, function)(c_int(status), byref(text)) and text.value:
                texts.append(text.value.decode("utf-8", "replace"))
        return ": ".join(texts) or f"error {status}"

    def devices(self) -> list[Found]:
        """The GPUs that the driver has. Raises: StepwellError `driver`."""
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        return [self._described(number) for number in range(count.value)]

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
def driver() -> Driver:
    """The driver of this machine. Raises: StepwellError `no-device` where there is none."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return Driver(library)
    message = f"no cuda device is here: {_LIBRARIES[0]} cannot be loaded"
    raise StepwellError("no-device", None, message, help=_HELP)
