"""The interface of a device: memory, copies, programs of kernels and their launches."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

Bytes: TypeAlias = npt.NDArray[np.uint8]
Triple: TypeAlias = tuple[int, int, int]


class DeviceInfo(NamedTuple):
    """A device as `stepwell devices` shows it."""

    name: str
    """The name with its number: `webgpu:0`."""
    kind: str
    about: str
    """The hardware and the driver, in words."""
    memory_bytes: int | None = None
    """The memory of the device; None where it is unknown."""


@dataclass(eq=False)
class Memory:
    """A piece of a device's memory: `handle` is the device's own."""

    nbytes: int
    handle: Any


class View(NamedTuple):
    """An array in a piece of memory, as a kernel's argument."""

    memory: Memory
    offset: int
    """The first byte."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


Argument: TypeAlias = "View | int | np.generic"


class Device(ABC):
    """
    A device that this process can use.

    The compiler makes code in one of `formats`. A part of a model loads the code and allocates memory for its
    weights once, and then copies and launches in order: an operation begins when all earlier ones have ended.
    Calls of one device are never at the same time (`lock`). The errors of all methods are StepwellErrors:
    `driver` with the driver's own text, `device-memory` where memory is short.
    """

    kind: ClassVar[str]
    """The name on the command line: `--device KIND`."""
    formats: ClassVar[Sequence[str]]
    """The formats of code for `load`, the preferred one first: `gpu`, `wgsl`, `opencl`, `ptx`."""
    alignment: ClassVar[int] = 256
    """The arena's arrays of inputs and outputs begin at multiples of these bytes."""
    survives_fork: ClassVar[bool] = False
    """Whether a child of this process may use the device as well: no driver allows it."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.process = os.getpid()
        self.lock = threading.RLock()

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        """The devices of this kind that are here. Raises: StepwellError `no-device`, `missing-package`."""
        return [cls().info]

    @property
    @abstractmethod
    def info(self) -> DeviceInfo:
        """The device in words."""

    @abstractmethod
    def allocate(self, nbytes: int) -> Memory:
        """Memory of some bytes, more than 0."""

    @abstractmethod
    def free(self, memory: Memory) -> None:
        """Give memory back; operations under way end before."""

    @abstractmethod
    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        """Copy bytes of the host into memory."""

    @abstractmethod
    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        """Copy memory to the host, after all operations before."""

    @abstractmethod
    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        """Copy bytes within the device."""

    @abstractmethod
    def load(self, code: bytes, format: str) -> object:
        """The program of code in one of `formats`, for `launch`."""

    @abstractmethod
    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        """Run a kernel; `arguments` are arrays, indices and numbers in the order of the kernel's text."""

    def unload(self, program: Any) -> None:  # noqa: B027  # most programs are objects of Python
        """Give a program back."""

    def synchronize(self) -> None:  # noqa: B027  # most devices wait when they copy out
        """Wait for all operations."""


class ReplayDevice(Device):
    """A device with recordings of launches and copies, made once for some sizes and replayed in each call."""

    @abstractmethod
    def record(self, run: Callable[[], None]) -> Any:
        """A recording of a function's launches and copies, none of which runs."""

    @abstractmethod
    def replay(self, recording: Any) -> None:
        """Run a recording."""

    @abstractmethod
    def forget(self, recording: Any) -> None:
        """Give a recording back."""


def expect_usable(device: Device) -> None:
    """Require the process that opened a device. Raises: StepwellError `driver` after a fork."""
    if device.process != os.getpid() and not device.survives_fork:
        message = (
            f"{device.info.name} was opened before this process was forked, which drivers do not survive"
        )
        help = "start processes by spawn: multiprocessing.get_context('spawn')"
        raise StepwellError("driver", None, message, help=help)


def code_of_formats(
    formats: Sequence[str], codes: Mapping[str, bytes], name: str, where: str
) -> tuple[str, bytes]:
    """
    The code of a part in the first of a device's formats.

    Args: `name` is that of the device, `where` the part's.
    Raises: StepwellError `wrong-device`.
    """
    for format in formats:
        if format in codes:
            return format, codes[format]
    found, wanted = ", ".join(codes) or "none", " or ".join(formats)
    message = f"the code is {found}, and {name} takes {wanted}"
    help = f"compile it again with --device {name}, or leave --device out"
    raise StepwellError("wrong-device", where, message, help=help)


def as_bytes(array: Array) -> Bytes:
    """The bytes of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8)
