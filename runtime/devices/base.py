"""The interface of a device: memory, copies, programs of kernels and their launches."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np

from stepwell.runtime.devices.arrays import ArrayMemory, Bytes, DeviceArray
from stepwell.runtime.devices.arrays import DeviceInfo as DeviceInfo
from stepwell.runtime.devices.arrays import Memory as Memory
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

Triple: TypeAlias = tuple[int, int, int]


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

    kind: str
    """The name on the command line: `--device KIND`."""
    formats: ClassVar[Sequence[str]]
    """The formats of code for `load`, the preferred one first: `gpu`, `wgsl`, `opencl`, `ptx`."""
    alignment: ClassVar[int] = 256
    """The alignment in bytes of inputs and outputs in the arena."""
    survives_fork: ClassVar[bool] = False
    """Whether a forked child of this process can use the device; drivers do not allow it."""

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.process = os.getpid()
        self.lock = threading.RLock()
        self.arrays = ArrayMemory(self)

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
        """Free memory, after all operations before."""

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
        """A program for `launch`, made from code in one of `formats`."""

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
        """Free a program."""

    def synchronize(self) -> None:  # noqa: B027  # most devices wait when they copy out
        """Wait for all operations."""

    def memory(self) -> tuple[int, int] | None:
        """The free and the total memory in bytes; None if the driver does not report it."""
        return None

    def host_view(self, memory: Memory) -> Bytes | None:
        """
        A view by which the host reads and writes memory directly; None if the device has memory of its own.
        """
        return None

    def unshare(self, memory: Memory) -> None:  # noqa: B027  # most memory is shared without a call
        """End the host's access to memory by `host_view`, before the memory is used for other arrays."""

    def array(self, values: object) -> DeviceArray:
        """
        A copy on the device of an array, of nested lists of numbers, or of an object with DLPack on the CPU.

        Raises: StepwellError `type-mismatch`, `device-memory`, `driver`.
        """
        given = _array_of(values)
        expect_usable(self)
        with self.lock:
            made = self.new_array(given.shape, given.dtype)
            if given.nbytes:
                self.copy_in(made.memory, 0, as_bytes(given))
        return made

    def from_dlpack(self, values: object) -> DeviceArray:
        """
        An array in the memory of an object with DLPack, without a copy.

        Raises: StepwellError `unsupported` where the device does not compute on memory of the host, or the
        object's memory is not laid out as a device needs it; `type-mismatch`.
        """
        given = _array_of(values)
        if isinstance(values, DeviceArray) and values.device is self:
            return values
        memory = self.adopted(as_bytes(given))
        if memory is None:
            message = f"{self.info.name} does not compute on memory of the host"
            raise StepwellError("unsupported", None, message, help="`array` copies the object to the device")
        return DeviceArray(self, memory, given.shape, given.dtype, is_own=False)

    def adopted(self, data: Bytes) -> Memory | None:
        """The host's bytes as memory of the device; None if the device has memory of its own."""
        return None

    def new_array(self, shape: Sequence[int], dtype: np.dtype[Any]) -> DeviceArray:
        """
        An array with undefined elements; the caller has the lock. Raises: StepwellError `device-memory`,
        `driver`.
        """
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return DeviceArray(self, self.arrays.take(nbytes), shape, dtype)

    def to_host(self, array: DeviceArray) -> Array:
        """A copy of an array of the device. Raises: StepwellError `driver`."""
        expect_usable(self)
        found = np.empty(array.shape, array.dtype)
        if found.nbytes:
            with self.lock:
                self.copy_out(array.memory, 0, as_bytes(found))
        return found


class ReplayDevice(Device):
    """A device with recordings of launches and copies, made once for some sizes and replayed in each call."""

    @abstractmethod
    def record(self, run: Callable[[], None]) -> Any:
        """A recording of the launches and copies of a function, which are not run."""

    @abstractmethod
    def replay(self, recording: Any) -> None:
        """Run a recording."""

    @abstractmethod
    def forget(self, recording: Any) -> None:
        """Free a recording."""


def expect_usable(device: Device) -> None:
    """Check that this process opened the device. Raises: StepwellError `driver` after a fork."""
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

    Args: `name` is the device's name, `where` the part's.
    Raises: StepwellError `wrong-device`.
    """
    for format in formats:
        if format in codes:
            return format, codes[format]
    found, wanted = ", ".join(codes) or "none", " or ".join(formats)
    message = f"{name} runs code of the formats {wanted}, found {found}"
    help = f"compile it again with --device {name}, or leave --device out"
    raise StepwellError("wrong-device", where, message, help=help)


def _array_of(values: object) -> Array:
    """A contiguous array of numbers. Raises: StepwellError `type-mismatch`."""
    kind = type(values).__name__
    try:
        if isinstance(values, DeviceArray):
            return values.numpy()
        shares = hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray)
        made: object = np.from_dlpack(values) if shares else np.asarray(values)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
        found = cast(Array, made)
        if found.dtype.hasobject or not found.dtype.isnative:
            raise TypeError(f"elements of {found.dtype} have no bytes of this machine")
        return np.ascontiguousarray(found).reshape(found.shape)  # which makes a dimension of none
    except (TypeError, ValueError, BufferError) as error:
        message = f"expected an array of numbers on the host, found {kind}"
        raise StepwellError("type-mismatch", None, message, note=str(error)) from None


def text_of(code: bytes) -> str:
    """The text of code that is text. Raises: StepwellError `bad-artifact` for other bytes."""
    try:
        return code.decode()
    except UnicodeDecodeError as error:
        raise StepwellError("bad-artifact", None, f"the code of a device part is no text: {error}") from None


def as_bytes(array: Array) -> Bytes:
    """The bytes of a contiguous array, without a copy."""
    return array.reshape(-1).view(np.uint8)
