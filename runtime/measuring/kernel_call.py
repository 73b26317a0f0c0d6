"""A kernel in memory, called on arrays without the rest of a model."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from time import perf_counter_ns, thread_time_ns

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES, CtxField
from stepwell.runtime.addresses import address_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.pool import Pool
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.rpc.guarded import GuardedMemory

KERNEL = "kernel"
"""The symbol of a kernel that is measured."""
REPEAT = "repeat"
"""
The symbol of `i64 repeat(i64 n, ptr kernel, ptr table, i64 count, i64 first, ptr dims, ptr ctx)`: calls with
the arguments of a table in turn; it returns the number of the next ones.
"""
PLACES_BYTES = (0, 64, 2112)
"""
Offsets of buffers from the begin of a page: where they are decides up to a sixth of a kernel's time.
"""
_PAGE_BYTES = 4096
_KERNEL_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_REPEAT_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


class Sizes:
    """A case in which kernels are called: inputs, the values of symbols, and the arrays of results."""

    def __init__(
        self,
        symbols: Mapping[str, int],
        inputs: Sequence[Array],
        outputs: Sequence[Array],
        cold: Sequence[int] = (),
        copies: int = 1,
    ):
        """
        Args: `outputs` are arrays of the shapes and types of the results; `cold` are the positions of inputs
        that a model reads from memory; these have `copies` copies, so that no call finds them in a cache.
        """
        self.symbols = symbols
        self.inputs, self.outputs = inputs, outputs
        self._cold, self._copies = frozenset(cold), copies if cold else 1
        self._placed: dict[int, list[list[Array]]] = {}
        self._copied: list[dict[int, Array]] = []

    def placed(self, place: int) -> list[list[Array]]:
        """
        The inputs, and memory for the outputs, at one of `PLACES_BYTES`; made once.

        Returns: a list for each copy; all arrays but the cold inputs are the same ones.
        """
        if place not in self._placed:
            offset = PLACES_BYTES[place]
            arrays: dict[int, Array] = {}
            for n, array in enumerate((*self.inputs, *self.outputs)):
                if n not in self._cold:
                    arrays[n] = _at(array, offset * (1 + n % 3))
                    if n < len(self.inputs):
                        arrays[n][...] = array
            count = len(self.inputs) + len(self.outputs)
            each = [{**arrays, **copy} for copy in self._cold_copies()]
            self._placed = {place: [[mine[n] for n in range(count)] for mine in each]}  # they may be large
        return self._placed[place]

    def _cold_copies(self) -> Sequence[Mapping[int, Array]]:
        """The copies of the cold inputs, each at other offsets; they stay where they are."""
        while len(self._copied) < self._copies:
            offset = PLACES_BYTES[len(self._copied) % len(PLACES_BYTES)]
            copy = {n: _at(self.inputs[n], offset * (1 + n % 3)) for n in sorted(self._cold)}
            for n, array in copy.items():
                array[...] = self.inputs[n]
            self._copied.append(copy)
        return self._copied


def _at(like: Array, offset_bytes: int) -> Array:
    """An array of a shape and type, at some bytes after the begin of a page."""
    raw = np.zeros(like.nbytes + offset_bytes + _PAGE_BYTES, np.uint8)
    start = -address_of(raw) % _PAGE_BYTES + offset_bytes
    return np.ndarray(like.shape, like.dtype, raw[start : start + max(1, like.nbytes)])


class KernelCall:
    """A loaded kernel. Calls check nothing: the caller must pass arrays of its types."""

    def __init__(self, library: Library, scratch: str, pool: Pool | None):
        """Args: `scratch` is the size of its temporary memory as a dimension expression."""
        self._library = library
        self.address = library.address(KERNEL)
        self._call = _KERNEL_TYPE(self.address)
        self._scratch = Dim.of(int(scratch) if scratch.isdecimal() else scratch)
        self._memory: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self._pool = pool
        self._context = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64)
        if pool is not None:
            pool.start()
            self._context[CtxField.PARALLEL_FOR] = pool.parallel_for_address
            self._context[CtxField.POOL] = pool.state_address

    def arguments(
        self, sizes: Sizes, copies: Sequence[Sequence[Array]], scratch: Array | None = None
    ) -> Arguments:
        """
        The addresses of calls, valid as long as the result lives.

        Args: `copies` are arrays of calls that take turns; `scratch` is temporary memory (default: its own).
        """
        need = self.scratch_bytes(sizes)
        if scratch is None:
            if self._memory.nbytes < need:
                self._memory = aligned_empty(need)
            scratch = self._memory
        return Arguments(copies, scratch, sizes.symbols, self._context)

    def scratch_bytes(self, sizes: Sizes) -> int:
        """The bytes of temporary memory."""
        return self._scratch.evaluate(sizes.symbols)

    def __call__(self, arguments: Arguments) -> None:
        """Call it once. Raises: StepwellError `run-time` for a status other than 0."""
        if (status := self._call(*arguments.addresses)) != 0:
            raise StepwellError("run-time", None, f"the kernel returned {status}")

    def guarded(self, sizes: Sizes) -> list[Array]:
        """
        The results of a call between inaccessible pages, which elements keep a pattern that are not written.

        Raises: StepwellError `stray-write`, `run-time`; a stray access ends the process.
        """
        memory = GuardedMemory()
        inputs = [memory.copy(array, f"input {n}") for n, array in enumerate(sizes.inputs)]
        outputs = [memory.new(a.shape, a.dtype, f"output {n}") for n, a in enumerate(sizes.outputs)]
        scratch = memory.new((self.scratch_bytes(sizes),), np.dtype(np.uint8), "the scratch memory")
        self(self.arguments(sizes, [[*inputs, *outputs]], scratch))
        memory.check()
        return [output.copy() for output in outputs]


class Arguments:
    """The arguments of a kernel's calls as addresses, and the arrays that they point to."""

    def __init__(
        self,
        copies: Sequence[Sequence[Array]],
        scratch: Array,
        symbols: Mapping[str, int],
        context: npt.NDArray[np.uint64],
    ):
        """Args: `copies` are the arrays of calls that take turns."""
        self._copies, self._scratch, self._context = copies, scratch, context
        addresses = [[*map(address_of, arrays), address_of(scratch)] for arrays in copies]
        self._pointers = np.array(addresses, np.uint64)
        self._dims = np.array([*symbols.values(), 0], np.int64)
        self._table = np.array([address_of(row) for row in self._pointers], np.uint64)
        self.addresses = tuple(address_of(each) for each in (self._pointers, self._dims, context))
        """The addresses of the first call."""
        self.table = address_of(self._table)
        self.count, self.turn = len(copies), 0
        """The number of copies, and that of the next one."""


class Clock:
    """Times of calls that repeat in native code."""

    def __init__(self, library: Library, threads: int):
        self._library = library
        self._repeat = _REPEAT_TYPE(library.address(REPEAT))
        self._now = thread_time_ns if threads == 1 else perf_counter_ns

    def seconds(self, kernel: KernelCall, arguments: Arguments, times: int) -> float:
        """The mean seconds of a call, of several in a row, with each copy of the arguments in turn."""
        table = arguments.table, arguments.count, arguments.turn
        begin = self._now()
        arguments.turn = self._repeat(times, kernel.address, *table, *arguments.addresses[1:])
        return (self._now() - begin) / times / 1e9
