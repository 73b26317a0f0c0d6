"""The device `cuda`: GPUs of NVIDIA by the driver's own interface; no toolkit is needed."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref, c_int, c_void_p
from typing import Any, ClassVar

from stepwell.runtime.devices.base import DeviceInfo
from stepwell.runtime.devices.cuda.driver import CudaDriver, driver
from stepwell.runtime.devices.driver.calls import Found
from stepwell.runtime.devices.driver.device import DriverDevice, LoadedModule
from stepwell.runtime.devices.signatures import arch_of, signatures_of
from stepwell.runtime.errors import StepwellError

_NON_BLOCKING = 1
_DYNAMIC_SHARED_BYTES = 8
"""The attribute of a function for more shared memory than 48 KiB."""
_PLAIN_SHARED_BYTES = 48 << 10


class Cuda(DriverDevice):
    """A GPU with the primary context, shared with other libraries of the process, and a stream."""

    kind = "cuda"
    formats: ClassVar[Sequence[str]] = ("ptx",)

    def __init__(self, number: int = 0, found: CudaDriver | None = None) -> None:
        """Raises: StepwellError `no-device`, `driver`."""
        self._cuda = driver() if found is None else found
        super().__init__(number, self._cuda)
        self._handle, self._context = c_int(), c_void_p()
        self._driver.call("cuDeviceGet", byref(self._handle), c_int(number))
        self._driver.call("cuDevicePrimaryCtxRetain", byref(self._context), self._handle)
        self._start("cuStreamCreate", _NON_BLOCKING)

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        return [each.info(cls.kind) for each in driver().devices()]

    def close(self) -> None:
        """Free the stream and the pinned memory, and leave the context to others."""
        self._end(lambda: self._driver.call("cuDevicePrimaryCtxRelease_v2", self._handle))

    def load(self, code: bytes, format: str) -> Any:
        """Raises: StepwellError `wrong-device` for code of another architecture; `driver`, `bad-artifact`."""
        text = code.decode("utf-8", "replace")
        _expect_arch(arch_of(text), self._found)
        signatures = signatures_of(text)
        self._enter()
        return LoadedModule(self._cuda.module(text), signatures)

    def _prepare(self, function: c_void_p, kernel: str, shared_bytes: int) -> None:
        if shared_bytes > _PLAIN_SHARED_BYTES:
            most = (c_int(_DYNAMIC_SHARED_BYTES), c_int(shared_bytes))
            self._driver.call("cuFuncSetAttribute", function, *most, what=f"@{kernel}")

    def _make_current(self) -> None:
        self._driver.call("cuCtxSetCurrent", self._context)


def _expect_arch(arch: str, found: Found) -> None:
    """
    Require a GPU that runs code of an architecture: later ones do, but for names that end in `a`.

    Raises: StepwellError `wrong-device`.
    """
    wanted, has = _version(arch), _version(found.arch)
    if has < wanted or (arch.endswith("a") and has != wanted):
        message = f"the code is for {arch}, cuda:{found.number} is {found.arch}"
        help = f"compile it again: --target cuda{{arch={found.arch}}}"
        raise StepwellError("wrong-device", None, message, help=help)


def _version(arch: str) -> int:
    digits = arch.removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdecimal() else 0
