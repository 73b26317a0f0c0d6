"""The driver of AMD by ctypes (HIP): calls that are checked, and errors with the driver's own text."""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from typing import Any

from stepwell.runtime.devices.driver.calls import Driver, Found, Names
from stepwell.runtime.errors import StepwellError

_LIBRARIES = (
    *("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"),
    *("amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"),
)
_TEXTS = ("hipGetErrorName", "hipGetErrorString")
_PROPERTIES = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
"""The functions that describe a GPU, the newer one first: the two fill structures of different order."""
_PROPERTIES_BYTES = 1 << 12
_ARCH = re.compile(rb"gfx[0-9a-f]+")
_NAMES = Names(
    device_count="hipGetDeviceCount",
    allocate="hipMalloc", free="hipFree", memory="hipMemGetInfo",
    copy_in="hipMemcpyHtoDAsync", copy_out="hipMemcpyDtoHAsync", copy="hipMemcpyDtoDAsync",
    pin="hipHostMalloc", unpin="hipHostFree",
    unload="hipModuleUnload", function="hipModuleGetFunction", launch="hipModuleLaunchKernel",
    begin_capture="hipStreamBeginCapture", destroy_stream="hipStreamDestroy", wait="hipStreamSynchronize",
    end_capture="hipStreamEndCapture", instantiate="hipGraphInstantiateWithFlags",
    destroy_graph="hipGraphDestroy", replay="hipGraphLaunch", destroy_recording="hipGraphExecDestroy",
)  # fmt: skip
_HELP = "`stepwell devices` lists what is here; --device gpu-interpreter runs the kernels without a GPU"


class HipDriver(Driver):
    """The library of the driver, initialized."""

    names = _NAMES

    def __init__(self, library: Any):
        """Raises: StepwellError `no-device` when the driver cannot be initialized."""
        super().__init__(library)
        for name in _TEXTS:
            getattr(library, name).restype = c_char_p
        if status := library.hipInit(c_uint(0)):
            message = f"no rocm device is here: the driver does not start: {self.text_of(status)}"
            raise StepwellError("no-device", None, message, help=_HELP)

    def text_of(self, status: int) -> str:
        found = (getattr(self.library, name)(c_int(status)) for name in _TEXTS)
        return ": ".join(each.decode("utf-8", "replace") for each in found if each) or f"error {status}"

    def _described(self, number: int) -> Found:
        memory, name = c_size_t(), ctypes.create_string_buffer(256)
        self.call("hipDeviceGetName", name, c_int(len(name)), c_int(number))
        self.call("hipDeviceTotalMem", byref(memory), c_int(number))
        return Found(number, name.value.decode("utf-8", "replace"), self._arch(number), memory.value)

    def _arch(self, number: int) -> str:
        """The architecture, found by its form among the properties: their order changed with version 6."""
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        function = next((name for name in _PROPERTIES if hasattr(self.library, name)), _PROPERTIES[-1])
        self.call(function, properties, c_int(number))
        found = _ARCH.search(properties.raw)
        return "unknown" if found is None else found[0].decode()

    def module(self, code: bytes) -> c_void_p:
        """A code object, loaded. Raises: StepwellError `driver`."""
        module = c_void_p()
        self.call("hipModuleLoadData", byref(module), c_char_p(code))
        return module


@cache
def driver() -> HipDriver:
    """The driver of this machine. Raises: StepwellError `no-device` where there is none."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return HipDriver(library)
    message = f"no rocm device is here: {_LIBRARIES[0]} cannot be loaded"
    raise StepwellError("no-device", None, message, help=_HELP)
