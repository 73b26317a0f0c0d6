"""Arrays that stay on a device: results of a part that another part reads, inputs and outputs of models."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from stepwell.runtime.machine.named_target import Target

Bytes: TypeAlias = npt.NDArray[np.uint8]
_MOST_KEPT = 32
"""The most pieces of memory of freed arrays that are kept for later arrays."""
_CPU, _CUDA = 1, 2
"""The numbers of kinds of devices in DLPack."""


class DeviceInfo(NamedTuple):
    """A device as `stepwell devices` shows it."""

    name: str
    """The name with its number: `webgpu:0`."""
    kind: str
    about: str
    """The hardware and the driver, in words."""
    memory_bytes: int | None = None
    """The memory of the device; None where it is unknown."""
    arch: str = ""
    """The architecture of a GPU for which there is code by architecture: `sm_90`."""
    is_software: bool = False
    """Whether the CPU computes: a simulator, an interpreter, a driver without a GPU."""

    @property
    def target(self) -> Target | None:
        """The target of code for the device; None for interpreters, which run the code of others."""
        from stepwell.runtime.machine.device_target import device_target

        return device_target(self.kind, self.arch)


@dataclass(eq=False)
class Memory:
    """A piece of a device's memory: `handle` is the device's own."""

    nbytes: int
    handle: Any


class ArrayDevice(Protocol):
    """A device as its arrays need it."""

    kind: str
    number: int
    arrays: ArrayMemory

    @property
    def info(self) -> DeviceInfo:
        """The device in words."""
        ...

    def allocate(self, nbytes: int) -> Memory:
        """Memory of some bytes, more than 0."""
        ...

    def free(self, memory: Memory) -> None:
        """Give memory back."""
        ...

    def host_view(self, memory: Memory) -> Bytes | None:
        """The bytes of memory that the host reads itself, or None."""
        ...

    def unshare(self, memory: Memory) -> None:
        """End the host's reading of memory."""
        ...

    def to_host(self, array: DeviceArray) -> Array:
        """A copy of an array."""
        ...


class ArrayMemory:
    """
    The memory of a device's arrays: pieces of arrays that are gone serve later ones of the same size.

    An array may go in any thread and within any call, so its memory waits in a queue for the next allocation.
    """

    def __init__(self, device: ArrayDevice):
        self._device = device
        self._gone: deque[Memory] = deque()
        self._free: list[Memory] = []

    def take(self, nbytes: int) -> Memory:
        """Memory for an array; the device's lock is held. Raises: StepwellError `device-memory`, `driver`."""
        self._collect()
        for number, memory in enumerate(self._free):
            if memory.nbytes == max(1, nbytes):
                return self._free.pop(number)
        try:
            return self._device.allocate(max(1, nbytes))
        except StepwellError:
            if not self._free:
                raise
            self.clear()
            return self._device.allocate(max(1, nbytes))

    def give(self, memory: Memory) -> None:
        """Take the memory of an array that is gone."""
        self._gone.append(memory)

    def clear(self) -> None:
        """Free the memory that no array has; the device's lock is held."""
        self._collect()
        self._release(0)

    def _collect(self) -> None:
        while self._gone:
            self._free.append(memory := self._gone.popleft())
            with suppress(StepwellError):
                self._device.unshare(memory)
        self._release(_MOST_KEPT)

    def _release(self, kept: int) -> None:
        """Free all but the last pieces."""
        while len(self._free) > kept:
            with suppress(StepwellError):  # of a device that is gone, whose memory is
                self._device.free(self._free.pop(0))


class DeviceArray:
    """
    An array in the memory of a device, which models only read: `numpy()` copies it to the host.

    `device.array(x)` makes one, and a model that is called with `output="device"` returns them. DLPack shares
    the array without a copy where the device uses the host's memory.
    """

    is_on_device = True
    """By which a model knows the array without an import of this module."""

    def __init__(
        self,
        device: ArrayDevice,
        memory: Memory,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        *,
        is_own: bool = True,
    ):
        """Args: `is_own` is whether the memory is the device's, which uses it again afterwards."""
        self.device = device
        self._is_own = is_own
        self.shape = tuple(shape)
        self.dtype = dtype
        self.memory = memory

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numpy(self) -> Array:
        """A copy of the elements on the host. Raises: StepwellError `driver`."""
        return self.device.to_host(self)

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"<DeviceArray {self.dtype.name}[{sizes}] on {self.device.info.name}>"

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind and the number of the device, as DLPack has them. Raises: StepwellError `unsupported`."""
        if self.device.host_view(self.memory) is not None:
            return _CPU, 0
        if self.device.kind == "cuda":
            return _CUDA, self.device.number
        raise self._not_shared()

    def __dlpack__(self, **keywords: Any) -> Any:
        """The elements without a copy. Raises: StepwellError `unsupported` for memory of the device's own."""
        view = self.device.host_view(self.memory)
        if view is None:
            raise self._not_shared()
        elements = view[: self.nbytes].view(self.dtype).reshape(self.shape)
        shared = elements.view(_Shared)
        shared.owner = self  # the memory is not given back while a consumer has the elements
        return shared.__dlpack__(**keywords)

    def _not_shared(self) -> StepwellError:
        message = f"the memory of {self.device.info.name} is not shared by DLPack"
        return StepwellError("unsupported", None, message, help="`numpy()` copies the array to the host")

    def __del__(self) -> None:
        if getattr(self, "memory", None) is not None and self._is_own:
            self.device.arrays.give(self.memory)


class _Shared(np.ndarray[Any, Any]):
    """Elements of a device's memory with the array that owns it."""

    owner: DeviceArray
