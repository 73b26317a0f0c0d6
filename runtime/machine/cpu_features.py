"""
The CPU features of this machine that generated code may use, read without LLVM on Linux.

On x86-64 a few bytes of machine code execute CPUID and XGETBV: /proc/cpuinfo has names of its own, repeats
them for every core, and may be hidden in a container. On aarch64 the C library passes the kernel's answer on.
Elsewhere LLVM is asked, where it is installed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

from stepwell.runtime.packages import needed

Registers: TypeAlias = tuple[int, int, int, int]
"""EAX, EBX, ECX and EDX after CPUID."""

_EAX, _EBX, _ECX, _EDX = range(4)
# Bits of XCR0 by which the operating system says what it saves: the upper halves of vector registers; those,
# mask and 512-bit registers; tile registers.
_VECTORS, _MASKS, _TILES = 0x6, 0xE6, 0x60000


class _Bit(NamedTuple):
    """A feature of x86-64: its bit in the answer of CPUID, and the state that the system must save for it."""

    leaf: int
    subleaf: int
    register: int
    bit: int
    state: int = 0


_EXTENDED = 0x80000000  # leaves of AMD's, from here on
# LLVM's names of all that its code generation can use for our IR, and that choosers of schedules look at. Not
# here: what is reached by intrinsics alone that we never call (AES, SHA, CLMUL, RDRAND, VP2INTERSECT, AMX but
# for bytes), what is for systems (XSAVE, SHSTK, CLZERO, …), 16-byte atomics and SAHF, which our code does not
# need, what only some older CPUs of one vendor have (SSE4a, XOP, FMA4, TBM), and APX and AVX10.2, for which
# no test has run code. With LLVM's longer lists for Zen 3, Zen 5, Sapphire Rapids and Intel's CPUs without
# AVX-512 the objects of the models are the same.
X86_64 = {
    "sse3": _Bit(1, 0, _ECX, 0),
    "ssse3": _Bit(1, 0, _ECX, 9),
    "fma": _Bit(1, 0, _ECX, 12, _VECTORS),
    "sse4.1": _Bit(1, 0, _ECX, 19),
    "sse4.2": _Bit(1, 0, _ECX, 20),
    "movbe": _Bit(1, 0, _ECX, 22),
    "popcnt": _Bit(1, 0, _ECX, 23),
    "avx": _Bit(1, 0, _ECX, 28, _VECTORS),
    "f16c": _Bit(1, 0, _ECX, 29, _VECTORS),
    "lzcnt": _Bit(_EXTENDED + 1, 0, _ECX, 5),
    "bmi": _Bit(7, 0, _EBX, 3),
    "avx2": _Bit(7, 0, _EBX, 5, _VECTORS),
    "bmi2": _Bit(7, 0, _EBX, 8),
    "avx512f": _Bit(7, 0, _EBX, 16, _MASKS),
    "avx512dq": _Bit(7, 0, _EBX, 17, _MASKS),
    "avx512ifma": _Bit(7, 0, _EBX, 21, _MASKS),
    "avx512cd": _Bit(7, 0, _EBX, 28, _MASKS),
    "avx512bw": _Bit(7, 0, _EBX, 30, _MASKS),
    "avx512vl": _Bit(7, 0, _EBX, 31, _MASKS),
    "avx512vbmi": _Bit(7, 0, _ECX, 1, _MASKS),
    "avx512vbmi2": _Bit(7, 0, _ECX, 6, _MASKS),
    "gfni": _Bit(7, 0, _ECX, 8),
    "avx512vnni": _Bit(7, 0, _ECX, 11, _MASKS),
    "avx512bitalg": _Bit(7, 0, _ECX, 12, _MASKS),
    "avx512vpopcntdq": _Bit(7, 0, _ECX, 14, _MASKS),
    "amx-bf16": _Bit(7, 0, _EDX, 22, _TILES),
    "avx512fp16": _Bit(7, 0, _EDX, 23, _MASKS),
    "amx-tile": _Bit(7, 0, _EDX, 24, _TILES),
    "amx-int8": _Bit(7, 0, _EDX, 25, _TILES),
    "avxvnni": _Bit(7, 1, _EAX, 4, _VECTORS),
    "avx512bf16": _Bit(7, 1, _EAX, 5, _MASKS),
    "avxifma": _Bit(7, 1, _EAX, 23, _VECTORS),
    "avxvnniint8": _Bit(7, 1, _EDX, 4, _VECTORS),
    "avxneconvert": _Bit(7, 1, _EDX, 5, _VECTORS),
    "avxvnniint16": _Bit(7, 1, _EDX, 10, _VECTORS),
}
# Bits of the kernel's HWCAP. Not here: SVE and f16 arithmetic, for which no test has made code.
AARCH64 = {"fp-armv8": 0, "neon": 1, "lse": 8}
NAMES = frozenset(X86_64) | AARCH64.keys()
"""The features of the tables, of both architectures."""

# void cpuid(u32 leaf, u32 subleaf, u32 registers[4]): push rbx; mov r8, rdx; mov eax, edi; mov ecx, esi;
# cpuid; mov [r8], eax; mov [r8 + 4], ebx; mov [r8 + 8], ecx; mov [r8 + 12], edx; pop rbx; ret
_CPUID = bytes.fromhex("53 4989d0 89f8 89f1 0fa2 418900 41895804 41894808 4189500c 5b c3")
# u64 xgetbv(u32 number): mov ecx, edi; xgetbv; shl rdx, 32; or rax, rdx; ret
_XGETBV = bytes.fromhex("89f9 0f01d0 48c1e220 4809d0 c3")


@cache
def cpu_features() -> frozenset[str]:
    """
    The features of the tables that this machine has, tile registers even where no process may use them.

    Raises: StepwellError `missing-package` on a system that is read by LLVM, which is not installed.
    """
    if (arch := _linux_arch()) == "aarch64":
        return frozenset(name for name, bit in AARCH64.items() if _hardware_capabilities() >> bit & 1)
    if arch == "x86_64":
        try:
            processor = _Processor()
            return x86_64_features(processor.cpuid, processor.xgetbv)
        except OSError:  # a system that makes no page executable: it can compile, for others
            pass
    return llvm_features() & NAMES


def x86_64_features(cpuid: Callable[[int, int], Registers], xgetbv: Callable[[int], int]) -> frozenset[str]:
    """
    The features in CPUID's answers, as far as the operating system saves their registers.

    Args: `cpuid` of leaf and subleaf; `xgetbv` is executed where the system permits it.
    Source: LLVM, `getHostCPUFeatures` of TargetParser/Host.cpp.
    """
    ask = cache(cpuid)  # a virtual machine's host is woken by each
    last = {group: ask(group, 0)[_EAX] for group in (0, _EXTENDED)}
    last_subleaf = ask(7, 0)[_EAX] if last[0] >= 7 else 0
    general = ask(1, 0)[_ECX]
    saved = xgetbv(0) if general >> 27 & 1 else 0
    if not general >> X86_64["avx"].bit & 1:
        saved &= ~_MASKS

    def has(bit: _Bit) -> bool:
        # Beyond the last leaf Intel's CPUs answer with that of another.
        if bit.leaf > last[bit.leaf & _EXTENDED] or bit.subleaf > last_subleaf:
            return False
        is_saved = saved & bit.state == bit.state
        return is_saved and bool(ask(bit.leaf, bit.subleaf)[bit.register] >> bit.bit & 1)

    return frozenset(name for name, bit in X86_64.items() if has(bit))


@cache
def llvm_features() -> frozenset[str]:
    """All features that LLVM finds. Raises: StepwellError `missing-package`."""
    with needed(f"reading the features of this CPU on {sys.platform}"):
        import llvmlite.binding as llvm
    return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)


@cache
def process_triple() -> str:
    """
    The triple of code for this process, as LLVM writes it.

    Raises: StepwellError `missing-package` on a system that is read by LLVM, which is not installed.
    """
    if arch := _linux_arch():
        library = "musl" if getattr(sys.implementation, "_multiarch", "").endswith("musl") else "gnu"
        return f"{arch}-unknown-linux-{library}"
    with needed(f"reading the target of code on {sys.platform}"):
        import llvmlite.binding as llvm
    return llvm.get_process_triple()


def _linux_arch() -> str:
    """The architecture on Linux, where this module knows how to read it; elsewhere nothing."""
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        return ""
    arch = os.uname().machine
    return arch if arch in ("x86_64", "aarch64") else ""


class _Processor:
    """CPUID and XGETBV as functions, in a page that is written first, then executable and not writable."""

    def __init__(self) -> None:
        """Raises: OSError on a system that refuses executable pages."""
        private, size = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PAGESIZE
        self._page = mmap.mmap(-1, size, private, mmap.PROT_READ | mmap.PROT_WRITE)
        self._page.write(_CPUID + _XGETBV)
        begin = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        if mprotect(begin, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
        self._answer = (ctypes.c_uint32 * 4)()
        self._cpuid = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(begin)
        self._xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32)(begin + len(_CPUID))

    def cpuid(self, leaf: int, subleaf: int) -> Registers:
        """The registers after CPUID."""
        self._cpuid(leaf, subleaf, self._answer)
        eax, ebx, ecx, edx = self._answer
        return eax, ebx, ecx, edx

    def xgetbv(self, number: int) -> int:
        """The extended control register of a number; 0 has the state that the system saves."""
        return self._xgetbv(number)


def _hardware_capabilities() -> int:
    """The kernel's HWCAP."""
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.restype, getauxval.argtypes = ctypes.c_ulong, (ctypes.c_ulong,)
    return int(getauxval(16))
