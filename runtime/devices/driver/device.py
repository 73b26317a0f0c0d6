"""A GPU by a vendor's driver: memory, copies through pinned memory, launches, and recordings of them."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stepwell.runtime.devices.base import Argument, Bytes, DeviceInfo, Memory, ReplayDevice, Triple, View
from stepwell.runtime.devices.driver.calls import Driver, numbered
from stepwell.runtime.devices.driver.staging import Staging
from stepwell.runtime.devices.signatures import Parameter, passed
from stepwell.runtime.errors import StepwellError

_CAPTURE_OF_THREAD = 1
_current = threading.local()
"""The device that this thread has made its own, in an attribute for each kind."""


@dataclass
class LoadedModule:
    """A module of the driver, and the parameters of its kernels."""

    module: c_void_p
    signatures: Mapping[str, tuple[Parameter, ...]]
    functions: dict[str, c_void_p] = field(default_factory=dict[str, c_void_p])


class DriverDevice(ReplayDevice):
    """A GPU with a stream, on which everything runs in order."""

    def __init__(self, number: int, driver: Driver):
        """Raises: StepwellError `no-device`, `driver`."""
        super().__init__(number)
        self._driver = driver
        self._found = numbered(driver.devices(), number, self.kind)
        self._stream = c_void_p()
        self._staging: Staging | None = None

    @property
    def info(self) -> DeviceInfo:
        return self._found.info(self.kind)

    @abstractmethod
    def close(self) -> None:
        """Free the stream and the pinned memory."""

    @abstractmethod
    def _make_current(self) -> None:
        """Make the device that of this thread, by a call of the driver."""

    def _enter(self) -> None:
        """Make the device this thread's current one, unless it is."""
        if getattr(_current, self.kind, None) is not self:
            self._make_current()
            setattr(_current, self.kind, self)

    def _start(self, create_stream: str, flags: int) -> None:
        """
        Create the stream and the pinned memory; the device is closed when that fails.

        Raises: StepwellError `driver`, `device-memory`.
        """
        try:
            self._enter()
            self._driver.call(create_stream, byref(self._stream), c_uint(flags))
            self._staging = Staging(self._driver, self._stream)
        except BaseException:
            self.close()
            raise

    def _end(self, *more: Callable[[], None]) -> None:
        """Free the stream and the pinned memory, and do more."""
        staging, self._staging = self._staging, None
        steps: list[Callable[[], None]] = [] if staging is None else [staging.close]
        if self._stream.value is not None:
            steps.append(lambda: self._driver.call(self._driver.names.destroy_stream, self._stream))
        for step in (*steps, *more):
            with suppress(StepwellError):  # of a driver that is gone, with all of its memory
                step()
        self._stream = c_void_p()
        setattr(_current, self.kind, None)

    def allocate(self, nbytes: int) -> Memory:
        self._enter()
        address = c_ulonglong()
        try:
            self._driver.call(self._driver.names.allocate, byref(address), c_size_t(nbytes))
        except StepwellError as error:
            if error.code != "device-memory":
                raise
            raise self._short(nbytes, error) from None
        return Memory(nbytes, address.value)

    def _short(self, nbytes: int, error: StepwellError) -> StepwellError:
        """The error about missing memory, with what there is."""
        has, of, needs = (_size_text(size) for size in (*self.memory(), nbytes))
        message = f"{self.info.name} has {has} of {of} free, and {needs} are needed"
        return StepwellError("device-memory", None, message, note=error.message)

    def memory(self) -> tuple[int, int]:
        self._enter()
        free, total = c_size_t(), c_size_t()
        self._driver.call(self._driver.names.memory, byref(free), byref(total))
        return free.value, total.value

    def free(self, memory: Memory) -> None:
        self._enter()
        address, memory.handle = memory.handle, None
        if address is not None:
            self._driver.call(self._driver.names.free, c_ulonglong(address))

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._enter()
        self._pinned.copy_in(memory.handle + offset, array)

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._enter()
        self._pinned.copy_out(memory.handle + offset, array)

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        self._enter()
        places = (c_ulonglong(to.handle + to_offset), c_ulonglong(source.handle + offset), c_size_t(nbytes))
        self._driver.call(self._driver.names.copy, *places, self._stream)

    def unload(self, program: Any) -> None:
        self._enter()
        self._driver.call(self._driver.names.unload, program.module)

    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        self._enter()
        function = self._function(program, kernel, shared_bytes)
        values = [_passed(each) for each in passed(kernel, program.signatures[kernel], arguments)]
        pointers = (c_void_p * max(1, len(values)))(*(each.ctypes.data for each in values))
        sizes = [c_uint(size) for size in (*grid, *block, shared_bytes)]
        launch = self._driver.names.launch
        self._driver.call(launch, function, *sizes, self._stream, pointers, None, what=f"@{kernel}")

    def _function(self, program: LoadedModule, kernel: str, shared_bytes: int) -> c_void_p:
        """A kernel of a program, by its name. Raises: StepwellError `bad-artifact`, `driver`."""
        if kernel not in program.signatures:
            raise StepwellError("bad-artifact", None, f"the code of a device part has no kernel @{kernel}")
        if (function := program.functions.get(kernel)) is None:
            function = c_void_p()
            self._driver.call(self._driver.names.function, byref(function), program.module, kernel.encode())
            self._prepare(function, kernel, shared_bytes)
            program.functions[kernel] = function
        return function

    def _prepare(self, function: c_void_p, kernel: str, shared_bytes: int) -> None:  # noqa: B027
        """Request the resources that a kernel needs, before its first launch."""

    def synchronize(self) -> None:
        self._enter()
        self._pinned.wait()

    def record(self, run: Callable[[], None]) -> Any:
        """A graph of a function's launches, replayed by a single call of the driver."""
        self._enter()
        graph, executable = c_void_p(), c_void_p()
        self._driver.call(self._driver.names.begin_capture, self._stream, c_int(_CAPTURE_OF_THREAD))
        try:
            run()
        except BaseException:
            with suppress(StepwellError):
                self._driver.call(self._driver.names.end_capture, self._stream, byref(graph))
            self._destroy(graph)
            raise
        self._driver.call(self._driver.names.end_capture, self._stream, byref(graph))
        try:
            self._driver.call(self._driver.names.instantiate, byref(executable), graph, c_ulonglong(0))
        finally:
            self._destroy(graph)
        return executable

    def _destroy(self, graph: c_void_p) -> None:
        if graph.value is not None:
            with suppress(StepwellError):
                self._driver.call(self._driver.names.destroy_graph, graph)

    def replay(self, recording: Any) -> None:
        self._enter()
        self._driver.call(self._driver.names.replay, recording, self._stream)

    def forget(self, recording: Any) -> None:
        self._enter()
        self._driver.call(self._driver.names.destroy_recording, recording)

    @property
    def _pinned(self) -> Staging:
        if self._staging is None:
            raise StepwellError("driver", None, f"{self.info.name} was closed")
        return self._staging


def _size_text(nbytes: int) -> str:
    """A number of bytes in GiB or MiB."""
    return f"{nbytes / 2**30:.1f} GiB" if nbytes >= 1 << 30 else f"{nbytes / 2**20:.1f} MiB"


def _passed(value: Any) -> Any:
    """A parameter as an array of a single number, read by the driver through a pointer."""
    if isinstance(value, View):
        return np.array(value.memory.handle + value.offset, np.uint64)
    return np.array(value)
