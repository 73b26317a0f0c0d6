"""The device `rocm`: GPUs of AMD by HIP, the driver's interface; experimental, without a run on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_int
from typing import ClassVar

from stepwell.runtime.devices.base import DeviceInfo
from stepwell.runtime.devices.driver.calls import Found
from stepwell.runtime.devices.driver.device import DriverDevice, LoadedModule
from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.runtime.devices.rocm.driver import HipDriver, driver
from stepwell.runtime.errors import StepwellError

_NON_BLOCKING = 1


class Rocm(DriverDevice):
    """A GPU with a stream; the context is the one that all libraries of the process have."""

    kind = "rocm"
    formats: ClassVar[Sequence[str]] = ("hsaco",)

    def __init__(self, number: int = 0, found: HipDriver | None = None) -> None:
        """Raises: StepwellError `no-device`, `driver`."""
        self._hip = driver() if found is None else found
        super().__init__(number, self._hip)
        self._start("hipStreamCreateWithFlags", _NON_BLOCKING)

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        return [each.info(cls.kind) for each in driver().devices()]

    def close(self) -> None:
        """Free the stream and the pinned memory."""
        self._end()

    def load(self, code: bytes, format: str) -> LoadedModule:
        """Raises: StepwellError `wrong-device` for code of another architecture; `driver`, `bad-artifact`."""
        described = read_code_object(code)
        _expect_arch(described.arch, self._found)
        self._enter()
        return LoadedModule(self._hip.module(code), described.parameters)

    def _make_current(self) -> None:
        self._driver.call("hipSetDevice", c_int(self.number))


def _expect_arch(arch: str, found: Found) -> None:
    """Require a GPU of the code's architecture. Raises: StepwellError `wrong-device`."""
    if arch != found.arch:
        message = f"the code is for {arch}, rocm:{found.number} is {found.arch}"
        help = f"compile it again: --target rocm{{arch={found.arch}}}"
        raise StepwellError("wrong-device", None, message, help=help)
