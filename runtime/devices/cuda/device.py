"""The device `cuda`: GPUs of NVIDIA by the driver's own interface; no toolkit is needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from stepwell.runtime.devices.base import Argument, Bytes, DeviceInfo, Memory, ReplayDevice, Triple, View
from stepwell.runtime.devices.cuda.driver import Driver, Found, driver
from stepwell.runtime.devices.cuda.signatures import Parameter, arch_of, passed, signatures_of
from stepwell.runtime.devices.cuda.staging import Staging
from stepwell.runtime.errors import StepwellError

_NON_BLOCKING = 1
_CAPTURE_OF_THREAD = 1
_DYNAMIC_SHARED_BYTES = 8
"""The attribute of a function for more shared memory than 48 KiB."""
_PLAIN_SHARED_BYTES = 48 << 10


@dataclass
class _Program:
    """A module of the driver, and the parameters of its kernels."""

    module: c_void_p
    signatures: Mapping[str, tuple[Parameter, ...]]
    functions: dict[str, c_void_p] = field(default_factory=dict[str, c_void_p])


class Cuda(ReplayDevice):
    """A GPU with the primary context, shared with other libraries of the process, and a stream."""

    kind = "cuda"
    formats: ClassVar[Sequence[str]] = ("ptx",)
    _of_thread: ClassVar[threading.local] = threading.local()

    def __init__(self, number: int = 0, found: Driver | None = None) -> None:
        """Raises: StepwellError `no-device`, `driver`."""
        super().__init__(number)
        self._driver = driver() if found is None else found
        devices = self._driver.devices()
        if number >= len(devices):
            names = ", ".join(each.name for each in devices)
            message = f"there is no cuda device {number}: found {names or 'none'}"
            raise StepwellError("no-device", None, message, help="`stepwell devices` lists them")
        self._found = devices[number]
        self._handle, self._context, self._stream = c_int(), c_void_p(), c_void_p()
        self._staging: Staging | None = None
        self._driver.call("cuDeviceGet", byref(self._handle), c_int(number))
        self._driver.call("cuDevicePrimaryCtxRetain", byref(self._context), self._handle)
        try:
            self._enter()
            self._driver.call("cuStreamCreate", byref(self._stream), c_uint(_NON_BLOCKING))
            self._staging = Staging(self._driver, self._stream)
        except BaseException:
            self.close()
            raise

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        return [_info(each) for each in driver().devices()]

    @property
    def info(self) -> DeviceInfo:
        return _info(self._found)

    def close(self) -> None:
        """Free the stream and the pinned memory, and leave the context to others."""
        staging, self._staging = self._staging, None
        steps: list[Callable[[], None]] = [] if staging is None else [staging.close]
        if self._stream.value is not None:
            steps.append(lambda: self._driver.call("cuStreamDestroy_v2", self._stream))
        steps.append(lambda: self._driver.call("cuDevicePrimaryCtxRelease_v2", self._handle))
        for step in steps:
            with suppress(StepwellError):  # of a driver that is gone, with all of its memory
                step()
        self._stream, Cuda._of_thread.context = c_void_p(), None

    def allocate(self, nbytes: int) -> Memory:
        self._enter()
        address = c_ulonglong()
        try:
            self._driver.call("cuMemAlloc_v2", byref(address), c_size_t(nbytes))
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
        self._driver.call("cuMemGetInfo_v2", byref(free), byref(total))
        return free.value, total.value

    def free(self, memory: Memory) -> None:
        self._enter()
        address, memory.handle = memory.handle, None
        if address is not None:
            self._driver.call("cuMemFree_v2", c_ulonglong(address))

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._enter()
        self._pinned.copy_in(memory.handle + offset, array)

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._enter()
        self._pinned.copy_out(memory.handle + offset, array)

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        self._enter()
        places = (c_ulonglong(to.handle + to_offset), c_ulonglong(source.handle + offset), c_size_t(nbytes))
        self._driver.call("cuMemcpyDtoDAsync_v2", *places, self._stream)

    def load(self, code: bytes, format: str) -> Any:
        """Raises: StepwellError `wrong-device` for code of another architecture; `driver`, `bad-artifact`."""
        text = code.decode("utf-8", "replace")
        _expect_arch(arch_of(text), self._found)
        signatures = signatures_of(text)
        self._enter()
        return _Program(self._driver.module(text), signatures)

    def unload(self, program: Any) -> None:
        self._enter()
        self._driver.call("cuModuleUnload", program.module)

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
        self._driver.call("cuLaunchKernel", function, *sizes, self._stream, pointers, None, what=f"@{kernel}")

    def _function(self, program: _Program, kernel: str, shared_bytes: int) -> c_void_p:
        """A kernel of a program, by its name. Raises: StepwellError `bad-artifact`, `driver`."""
        if kernel not in program.signatures:
            raise StepwellError("bad-artifact", None, f"the code of a device part has no kernel @{kernel}")
        if (function := program.functions.get(kernel)) is None:
            function = c_void_p()
            self._driver.call("cuModuleGetFunction", byref(function), program.module, kernel.encode())
            if shared_bytes > _PLAIN_SHARED_BYTES:
                most = (c_int(_DYNAMIC_SHARED_BYTES), c_int(shared_bytes))
                self._driver.call("cuFuncSetAttribute", function, *most, what=f"@{kernel}")
            program.functions[kernel] = function
        return function

    def synchronize(self) -> None:
        self._enter()
        self._pinned.wait()

    def record(self, run: Callable[[], None]) -> Any:
        """A graph of a function's launches, replayed by a single call of the driver."""
        self._enter()
        graph, executable = c_void_p(), c_void_p()
        self._driver.call("cuStreamBeginCapture_v2", self._stream, c_int(_CAPTURE_OF_THREAD))
        try:
            run()
        except BaseException:
            with suppress(StepwellError):
                self._driver.call("cuStreamEndCapture", self._stream, byref(graph))
            self._destroy(graph)
            raise
        self._driver.call("cuStreamEndCapture", self._stream, byref(graph))
        try:
            self._driver.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_ulonglong(0))
        finally:
            self._destroy(graph)
        return executable

    def _destroy(self, graph: c_void_p) -> None:
        if graph.value is not None:
            with suppress(StepwellError):
                self._driver.call("cuGraphDestroy", graph)

    def replay(self, recording: Any) -> None:
        self._enter()
        self._driver.call("cuGraphLaunch", recording, self._stream)

    def forget(self, recording: Any) -> None:
        self._enter()
        self._driver.call("cuGraphExecDestroy", recording)

    @property
    def _pinned(self) -> Staging:
        if self._staging is None:
            raise StepwellError("driver", None, f"{self.info.name} was closed")
        return self._staging

    def _enter(self) -> None:
        """Make the context that of this thread."""
        if getattr(Cuda._of_thread, "context", None) is not self:
            self._driver.call("cuCtxSetCurrent", self._context)
            Cuda._of_thread.context = self


def _info(found: Found) -> DeviceInfo:
    name = f"{Cuda.kind}:{found.number}"
    return DeviceInfo(name, Cuda.kind, f"{found.name} ({found.arch})", found.memory_bytes)


def _size_text(nbytes: int) -> str:
    """A number of bytes in GiB or MiB."""
    return f"{nbytes / 2**30:.1f} GiB" if nbytes >= 1 << 30 else f"{nbytes / 2**20:.1f} MiB"


def _passed(value: Any) -> Any:
    """A parameter as an array of a single number, read by the driver through a pointer."""
    if isinstance(value, View):
        return np.array(value.memory.handle + value.offset, np.uint64)
    return np.array(value)


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
