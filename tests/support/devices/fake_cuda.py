"""The driver of NVIDIA in memory of the host: it writes down each call, runs PTX, and may fail at one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stepwell.lowering.interpret.ptx import Buffer, PtxProgram

_TYPES = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "bu" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (32, 64)},
}
_OUT_OF_MEMORY, _ILLEGAL_ADDRESS, _INVALID_PTX, _INVALID_VALUE = 2, 700, 218, 1
_DYNAMIC_SHARED_BYTES, _PLAIN_BYTES = 8, 48 << 10
"""The attribute of a function for more memory of a block than all launches may pass."""
_ERRORS = {
    _OUT_OF_MEMORY: ("CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    _ILLEGAL_ADDRESS: ("CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    _INVALID_PTX: ("CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    _INVALID_VALUE: ("CUDA_ERROR_INVALID_VALUE", "invalid argument"),
}
_CONTEXT = object()
_QUIET = ("cuGetErrorName", "cuGetErrorString")


class FakeCuda:
    """
    The functions of the driver as methods; arguments are those of ctypes.

    Args: `arch` is the compute capability of the only GPU; `fails_at` is the number of the call that fails,
    and with `is_gone` all after it do.
    """

    def __init__(self, arch: tuple[int, int] = (9, 0), fails_at: int | None = None, is_gone: bool = False):
        self.calls: list[str] = []
        self.held: dict[int, Any] = {}
        """What is not given back: by handle or address."""
        self.memory_bytes = 1 << 30
        self.log = ""
        """The log of a compiler that refuses all PTX."""
        self._arch, self._fails_at, self._is_gone = arch, fails_at, is_gone
        self._next = 1000
        self._names: dict[int, str] = {}
        self.functions: dict[int, PtxProgram] = {}
        self._most_bytes: dict[int, int] = {}
        """The memory of a block that launches of a function may pass, where it was asked for."""
        self._captured: list[Callable[[], object]] | None = None

    def __getattr__(self, name: str) -> Callable[..., int]:
        function: Callable[..., str | int] = object.__getattribute__(self, f"_{name}")

        def call(*arguments: Any) -> int:
            if name in _QUIET:
                function(*arguments)
                return 0
            number = len(self.calls)
            fails = number == self._fails_at or (
                self._is_gone and self._fails_at is not None and number > self._fails_at
            )
            if fails:
                self.calls.append(f"{name} fails")
                return _ILLEGAL_ADDRESS
            result = function(*arguments)
            self.calls.append(f"{name} {result}".strip() if isinstance(result, str) else f"{name} fails")
            return result if isinstance(result, int) else 0

        return call

    # What exists

    def _handle(self, out: Any, kind: str, value: Any) -> str:
        """A new handle with a name such as `stream1`."""
        self._next += 1
        out._obj.value = self._next
        self.held[self._next] = value
        count = sum(name.rstrip("0123456789") == kind for name in self._names.values())
        self._names[self._next] = f"{kind}{count + 1}"
        return self._names[self._next]

    def _drop(self, handle: Any) -> str:
        number = int(handle.value)
        del self.held[number]
        return self._names[number]

    def _place(self, address: Any) -> str:
        """An address as a piece of memory and an offset."""
        number = int(address.value)
        for begin, array in self._arrays():
            if begin <= number < begin + array.size:
                return f"{self._names[begin]}+{number - begin}"
        raise AssertionError(f"address {number:#x} is in no memory")

    def _memory(self, out: Any, nbytes: int, kind: str) -> str:
        array = np.zeros(nbytes, np.uint8)
        address = int(array.ctypes.data)
        out._obj.value = address
        self.held[address] = array
        count = sum(name.startswith(kind) for name in self._names.values())
        self._names[address] = f"{kind}{count + 1}"
        return f"{nbytes} -> {self._names[address]}"

    # Devices and contexts

    def _cuInit(self, flags: Any) -> str:
        return ""

    def _cuGetErrorName(self, status: Any, out: Any) -> None:
        out._obj.value = _ERRORS[status.value][0].encode()

    def _cuGetErrorString(self, status: Any, out: Any) -> None:
        out._obj.value = _ERRORS[status.value][1].encode()

    def _cuDeviceGetCount(self, out: Any) -> str:
        out._obj.value = 1
        return "-> 1"

    def _cuDeviceGet(self, out: Any, number: Any) -> str:
        out._obj.value = number.value
        return str(number.value)

    def _cuDeviceGetName(self, out: Any, size: Any, device: Any) -> str:
        out.value = b"Fake GPU"
        return ""

    def _cuDeviceTotalMem_v2(self, out: Any, device: Any) -> str:
        out._obj.value = self.memory_bytes
        return ""

    def _cuDeviceGetAttribute(self, out: Any, attribute: Any, device: Any) -> str:
        out._obj.value = self._arch[attribute.value - 75]
        return str(attribute.value)

    def _cuDevicePrimaryCtxRetain(self, out: Any, device: Any) -> str:
        return self._handle(out, "context", _CONTEXT)

    def _cuDevicePrimaryCtxRelease_v2(self, device: Any) -> str:
        (handle,) = [number for number, value in self.held.items() if value is _CONTEXT]
        del self.held[handle]
        return self._names[handle]

    def _cuCtxSetCurrent(self, context: Any) -> str:
        return self._names[int(context.value)]

    # Memory

    def _cuMemAlloc_v2(self, out: Any, nbytes: Any) -> str | int:
        used = sum(array.size for _, array in self._arrays())
        if used + nbytes.value > self.memory_bytes:
            return _OUT_OF_MEMORY
        return self._memory(out, nbytes.value, "memory")

    def _cuMemFree_v2(self, address: Any) -> str:
        return self._drop(address)

    def _cuMemHostAlloc(self, out: Any, nbytes: Any, flags: Any) -> str:
        return self._memory(out, nbytes.value, "pinned")

    def _cuMemFreeHost(self, pointer: Any) -> str:
        return self._drop(pointer)

    def _cuMemGetInfo_v2(self, free: Any, total: Any) -> str:
        free._obj.value, total._obj.value = self.memory_bytes // 2, self.memory_bytes
        return ""

    def _copied(self, to: Any, source: Any, nbytes: Any, arrow: str = "<-") -> str:
        text = f"{self._place(to)} {arrow} {self._place(source)} : {nbytes.value}"
        self._do(lambda: ctypes.memmove(int(to.value), int(source.value), nbytes.value))
        return text

    def _cuMemcpyHtoDAsync_v2(self, to: Any, source: Any, nbytes: Any, stream: Any) -> str:
        return self._copied(to, source, nbytes)

    def _cuMemcpyDtoHAsync_v2(self, to: Any, source: Any, nbytes: Any, stream: Any) -> str:
        return self._copied(to, source, nbytes)

    def _cuMemcpyDtoDAsync_v2(self, to: Any, source: Any, nbytes: Any, stream: Any) -> str:
        return self._copied(to, source, nbytes)

    # Code

    def _cuModuleLoadDataEx(self, out: Any, image: Any, count: Any, options: Any, values: Any) -> str | int:
        if self.log:
            log = self.log.encode() + b"\0"
            ctypes.memmove(values[2], log, len(log))
            return _INVALID_PTX
        return self._handle(out, "module", PtxProgram(image.value.decode()))

    def _cuModuleUnload(self, module: Any) -> str:
        return self._drop(module)

    def _cuModuleGetFunction(self, out: Any, module: Any, name: Any) -> str:
        self._next += 1
        out._obj.value = self._next
        self._names[self._next] = name.decode()
        self.functions[self._next] = self.held[int(module.value)]
        return f"{self._names[int(module.value)]} {name.decode()}"

    def _cuFuncSetAttribute(self, function: Any, attribute: Any, value: Any) -> str:
        assert attribute.value == _DYNAMIC_SHARED_BYTES
        self._most_bytes[int(function.value)] = value.value
        return f"{self._names[int(function.value)]} {attribute.value} {value.value}"

    def _cuLaunchKernel(self, function: Any, *rest: Any) -> str | int:
        *sizes, _, parameters, _ = rest
        numbers = [int(size.value) for size in sizes]
        grid, block, shared = tuple(numbers[:3]), tuple(numbers[3:6]), numbers[6]
        if shared > self._most_bytes.get(int(function.value), _PLAIN_BYTES):
            return _INVALID_VALUE
        name = self._names[int(function.value)]
        program: PtxProgram = self.functions[int(function.value)]
        types = [_TYPES[type] for _, type in program.entries[name].parameters]
        values = [_read(parameters[number], dtype) for number, dtype in enumerate(types)]
        buffers = [Buffer(begin, array.size, self._names[begin]) for begin, array in self._arrays()]
        run = partial(program.launch, name, grid, block, values, buffers, shared_bytes=shared)  # pyright: ignore[reportArgumentType]
        self._do(run)
        texts = [self._place(ctypes.c_uint64(int(v))) if self._is_address(v) else str(v) for v in values]
        return f"{name} grid {grid} block {block} shared {shared} ({', '.join(texts)})"

    def _is_address(self, value: Any) -> bool:
        return any(begin <= int(value) < begin + array.size for begin, array in self._arrays())

    def _arrays(self) -> list[tuple[int, Any]]:
        """The pieces of memory by address."""
        return [(begin, each) for begin, each in self.held.items() if isinstance(each, np.ndarray)]

    # Streams and graphs

    def _do(self, action: Callable[[], object]) -> None:
        """Run something now, or when the graph that is captured is launched."""
        if self._captured is None:
            action()
        else:
            self._captured.append(action)

    def _cuStreamCreate(self, out: Any, flags: Any) -> str:
        return self._handle(out, "stream", "stream")

    def _cuStreamDestroy_v2(self, stream: Any) -> str:
        return self._drop(stream)

    def _cuStreamSynchronize(self, stream: Any) -> str:
        assert self._captured is None, "a wait while a graph is captured"
        return ""

    def _cuStreamBeginCapture_v2(self, stream: Any, mode: Any) -> str:
        self._captured = []
        return ""

    def _cuStreamEndCapture(self, stream: Any, out: Any) -> str:
        captured, self._captured = self._captured, None
        return self._handle(out, "graph", captured)

    def _cuGraphInstantiateWithFlags(self, out: Any, graph: Any, flags: Any) -> str:
        return self._handle(out, "executable", self.held[int(graph.value)])

    def _cuGraphDestroy(self, graph: Any) -> str:
        return self._drop(graph)

    def _cuGraphExecDestroy(self, executable: Any) -> str:
        return self._drop(executable)

    def _cuGraphLaunch(self, executable: Any, stream: Any) -> str:
        for action in self.held[int(executable.value)]:
            action()
        return self._names[int(executable.value)]


def _read(address: int, dtype: Any) -> Any:
    """A number at an address."""
    return np.frombuffer(ctypes.string_at(address, dtype.itemsize), dtype)[0]
