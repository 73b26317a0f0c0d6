"""Checked calls of a vendor's driver, and the names of its functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from ctypes import byref, c_int
from typing import Any, NamedTuple

from stepwell.runtime.devices.arrays import DeviceInfo
from stepwell.runtime.errors import StepwellError

_OUT_OF_MEMORY = 2
"""The status of missing memory, the same for NVIDIA and AMD."""


class Names(NamedTuple):
    """The functions of a driver."""

    device_count: str
    """What says how many GPUs there are."""
    allocate: str
    free: str
    memory: str
    """What says how many bytes are free, and how many there are."""
    copy_in: str
    copy_out: str
    copy: str
    pin: str
    """What allocates memory of the host that the device accesses."""
    unpin: str
    unload: str
    function: str
    launch: str
    begin_capture: str
    destroy_stream: str
    wait: str
    end_capture: str
    instantiate: str
    destroy_graph: str
    replay: str
    destroy_recording: str


class Found(NamedTuple):
    """A GPU as the driver describes it."""

    number: int
    name: str
    arch: str
    """`sm_90`, `gfx942`."""
    memory_bytes: int

    def info(self, kind: str) -> DeviceInfo:
        """The GPU in words, as a device of a kind."""
        about = f"{self.name} ({self.arch})"
        return DeviceInfo(f"{kind}:{self.number}", kind, about, self.memory_bytes, self.arch)


def numbered(devices: Sequence[Found], number: int, kind: str) -> Found:
    """The GPU of a number. Raises: StepwellError `no-device`."""
    if number < len(devices):
        return devices[number]
    names = ", ".join(each.name for each in devices)
    message = f"there is no {kind} device {number}: found {names or 'none'}"
    raise StepwellError("no-device", None, message, help="`stepwell devices` lists them")


class Driver(ABC):
    """The library of a driver."""

    names: Names

    def __init__(self, library: Any):
        self.library = library

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

    def devices(self) -> list[Found]:
        """The GPUs that the driver has. Raises: StepwellError `driver`."""
        count = c_int()
        self.call(self.names.device_count, byref(count))
        return [self._described(number) for number in range(count.value)]

    @abstractmethod
    def _described(self, number: int) -> Found:
        """A GPU by its number. Raises: StepwellError `driver`."""

    @abstractmethod
    def text_of(self, status: int) -> str:
        """The driver's text of a status: `CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access …`."""
