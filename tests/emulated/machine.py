"""An emulated CPU: linked images in its memory, calls of their functions, and hooks for those outside."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.outside import address_outside
from tests.support.components import needs

Array: TypeAlias = npt.NDArray[np.generic]
Hook: TypeAlias = Callable[["Machine"], None]
"""A function outside of emulated code: reads and writes the registers and the memory of the machine."""

_PAGE_BYTES = 1 << 16
_HEAP, _HEAP_BYTES = 0x5A00_0000_0000, 64 << 20
_STACK, _STACK_BYTES = 0x7FFF_0000_0000, 2 << 20
_OUTSIDE, _IMAGES = 0x6000_0000_0000, 0x7F31_2345_0000
_HOOK_BYTES = 16
_MOST_MICROSECONDS = 60_000_000
_CACHE_LINE_BYTES = 64
_VECTORS_PERMITTED = 3 << 9
"""The bits by which a system permits programs the vector registers of x86-64."""


@dataclass(frozen=True)
class _Convention:
    """An architecture of the emulator: the CPU, and the registers in which functions pass values."""

    arch: str
    mode: str
    cpu: str
    integers: Sequence[str]
    floats: Sequence[str]
    stack: str
    result: str
    ret: bytes
    """The instruction that returns."""


# The plainest CPUs that code for `aarch64` and `x86-64-v2` may run on: an instruction they lack is an error.
_CONVENTIONS: Mapping[str, _Convention] = {
    "aarch64": _Convention(
        "ARM64",
        "ARM",
        "CPU_ARM64_A53",
        [f"X{i}" for i in range(8)],
        [f"V{i}" for i in range(8)],
        "SP",
        "X0",
        struct.pack("<I", 0xD65F03C0),
    ),
    "x86_64": _Convention(
        "X86",
        "64",
        "CPU_X86_NEHALEM",
        ["RDI", "RSI", "RDX", "RCX", "R8", "R9"],
        [f"XMM{i}" for i in range(8)],
        "RSP",
        "RAX",
        b"\xc3",
    ),
}


class Machine:
    """A CPU with memory, into which images are mapped as our loader maps them."""

    def __init__(self, arch: str, hooks: Mapping[str, Hook]):
        """Args: `hooks` are the functions outside by name. Tests without an emulator are skipped."""
        self.arch = arch
        self.calls: list[str] = []
        """The names of the functions outside that were called, in order."""
        self._unicorn = needs("unicorn")
        self._names = needs("unicorn.arm64_const" if arch == "aarch64" else "unicorn.x86_const")
        self._convention = _CONVENTIONS[arch]
        self._cpu: Any = self._unicorn.Uc(
            self._constant(f"ARCH_{self._convention.arch}"),
            self._constant(f"MODE_{self._convention.mode}"),
            self._constant(self._convention.cpu),
        )
        self._hooks = dict(hooks)
        self._failure: Exception | None = None
        self._next_image, self._next_bytes = _IMAGES, _HEAP
        data, code = self._constant("PROT_READ") | self._constant("PROT_WRITE"), self._constant("PROT_EXEC")
        self._cpu.mem_map(_HEAP, _HEAP_BYTES, data)
        self._cpu.mem_map(_STACK, _STACK_BYTES, data)
        self._cpu.mem_map(_OUTSIDE, _PAGE_BYTES, code | self._constant("PROT_READ"))
        self.outside = {name: _OUTSIDE + _HOOK_BYTES * (1 + i) for i, name in enumerate(self._hooks)}
        """The addresses of the hooks."""
        for address in self.outside.values():
            self._cpu.mem_write(address, self._convention.ret)
        if arch == "x86_64":
            self._write("CR4", _VECTORS_PERMITTED)
        at = _OUTSIDE, _OUTSIDE + _PAGE_BYTES
        self._cpu.hook_add(self._constant("HOOK_CODE"), self._run_hook, None, *at)

    def map(self, code: LinkedCode) -> int:
        """The address of an image that is mapped: functions are executable, none of it is writable."""
        start, size = self._next_image, -(-code.memory_bytes // _PAGE_BYTES) * _PAGE_BYTES
        self._next_image += size + _PAGE_BYTES
        read = self._constant("PROT_READ")
        self._cpu.mem_map(start, size, read)
        self._cpu.mem_write(start, code.contents[: code.text_bytes])
        self._cpu.mem_write(start + code.data_offset, code.contents[code.text_bytes :])
        table = [self.outside[name] for name in code.outside]
        self._cpu.mem_write(start + code.table_offset, struct.pack(f"<{len(table)}Q", *table))
        self._cpu.mem_protect(start, code.data_offset, read | self._constant("PROT_EXEC"))
        return start

    def call(self, address: int, *arguments: int) -> int:
        """
        The result of a function of integers.

        Raises: the exception of a hook; RuntimeError for an illegal instruction or access, or without an end.
        """
        stack = _STACK + _STACK_BYTES - _PAGE_BYTES
        for register, value in zip(self._convention.integers, arguments, strict=False):
            self._write(register, value)
        if self.arch == "aarch64":
            self._write("X30", _OUTSIDE)
        else:
            stack -= 8
            self._cpu.mem_write(stack, struct.pack("<Q", _OUTSIDE))
        self._write(self._convention.stack, stack)
        try:
            self._cpu.emu_start(address, _OUTSIDE, timeout=_MOST_MICROSECONDS)
        except self._unicorn.UcError as error:
            raise RuntimeError(f"{error}, at {self._program_counter():#x}") from None
        if self._failure is not None:
            raise self._failure
        if self._program_counter() != _OUTSIDE:
            raise RuntimeError(f"no end after {_MOST_MICROSECONDS / 1e6:.0f} s")
        return self._read(self._convention.result) & 0xFFFFFFFFFFFFFFFF

    def allocate(self, size_bytes: int) -> int:
        """The address of memory at the start of a cache line; it is never freed."""
        address = self._next_bytes
        self._next_bytes += -(-max(1, size_bytes) // _CACHE_LINE_BYTES) * _CACHE_LINE_BYTES
        if self._next_bytes > _HEAP + _HEAP_BYTES:
            raise MemoryError(f"{size_bytes} bytes do not fit into the emulated machine")
        return address

    def store(self, array: Array) -> int:
        """The address of a copy of an array."""
        self.write_bytes(address := self.allocate(array.nbytes), array.tobytes())
        return address

    def load(self, address: int, like: Array) -> Array:
        """A copy of memory as an array of the type and shape of another."""
        return np.frombuffer(self.read_bytes(address, like.nbytes), like.dtype).reshape(like.shape)

    def read_bytes(self, address: int, size_bytes: int) -> bytes:
        """A copy of memory."""
        return bytes(self._cpu.mem_read(address, size_bytes)) if size_bytes else b""

    def write_bytes(self, address: int, data: bytes) -> None:
        """Change memory."""
        if data:
            self._cpu.mem_write(address, data)

    def integer(self, number: int) -> int:
        """An integer argument of the function outside that is called."""
        return self._read(self._convention.integers[number])

    def float(self, number: int, format: str) -> float:
        """An argument of floating point; `format` is that of `struct`."""
        low = self._read(self._convention.floats[number]) & 0xFFFFFFFFFFFFFFFF
        return struct.unpack(format, struct.pack("<Q", low)[: struct.calcsize(format)])[0]

    def return_integer(self, value: int) -> None:
        """Set the result of the function outside."""
        self._write(self._convention.result, value & 0xFFFFFFFFFFFFFFFF)

    def return_float(self, value: float, format: str) -> None:
        """Set the result of the function outside, of floating point."""
        self._write(self._convention.floats[0], int.from_bytes(struct.pack(format, value), "little"))

    def _constant(self, name: str) -> int:
        modules = (self._names, needs("unicorn.unicorn_const"))
        return next(getattr(module, f"UC_{name}") for module in modules if hasattr(module, f"UC_{name}"))

    def _register(self, name: str) -> int:
        return self._constant(f"{self._convention.arch}_REG_{name}")

    def _read(self, register: str) -> int:
        return int(self._cpu.reg_read(self._register(register)))

    def _write(self, register: str, value: int) -> None:
        self._cpu.reg_write(self._register(register), value)

    def _program_counter(self) -> int:
        return self._read("PC" if self.arch == "aarch64" else "RIP")

    def _run_hook(self, _cpu: object, address: int, _size: int, _data: object) -> None:
        name = next((name for name, at in self.outside.items() if at == address), None)
        try:
            if name is None:
                raise RuntimeError(f"a jump to {address:#x}, where no function is")
            self.calls.append(name)
            self._hooks[name](self)
        except Exception as error:  # the emulator would drop it
            self._failure = error
            self._cpu.emu_stop()


def _call_libm(name: str, arguments: int, format: str, machine: Machine) -> None:
    """A function of this machine's own C library on the arguments of the emulated one."""
    kind = ctypes.c_double if format == "<d" else ctypes.c_float
    function = ctypes.CFUNCTYPE(kind, *[kind] * arguments)(address_outside(name))
    machine.return_float(function(*(machine.float(i, format) for i in range(arguments))), format)


def _copy(machine: Machine) -> None:
    to, start, size = map(machine.integer, range(3))
    machine.write_bytes(to, machine.read_bytes(start, size))
    machine.return_integer(to)


def _fill(machine: Machine) -> None:
    to, byte, size = map(machine.integer, range(3))
    machine.write_bytes(to, bytes([byte & 255]) * size)
    machine.return_integer(to)


def _nothing(machine: Machine) -> None:
    machine.return_integer(0)


_ONE = (
    "acos acosh asin asinh atan atanh cbrt ceil cos cosh erf exp exp10 exp2 expm1 floor log log10 log1p log2 "
    "nearbyint rint round roundeven sin sinh sqrt tan tanh trunc"
).split()
_MATH = {**dict.fromkeys(_ONE, 1), **dict.fromkeys(("atan2", "fmax", "fmin", "fmod", "pow"), 2), "fma": 3}
HOOKS: Mapping[str, Hook] = {
    "memcpy": _copy,
    "memmove": _copy,
    "memset": _fill,
    **dict.fromkeys(("sched_yield", "syscall"), _nothing),
    **{name: partial(_call_libm, name, n, "<d") for name, n in _MATH.items()},
    **{f"{name}f": partial(_call_libm, f"{name}f", n, "<f") for name, n in _MATH.items()},
}
"""The functions outside that are the same for all code: mathematics and memory."""
