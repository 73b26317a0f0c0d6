"""The memory of a running call of compiled code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np

from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES, CtxField
from stepwell.runtime.addresses import address_of
from stepwell.runtime.host import HostFrame
from stepwell.runtime.interface import Array, Binding, Interface
from stepwell.runtime.memory import LargeOutputs, Memory, aligned_empty
from stepwell.runtime.timing import KernelTimes


class CallFrame:
    """
    The memory of a running call: pointers to arrays, symbol values, the context struct and the arena.

    Frames are reused, one for each call that runs at the same time, so that a call allocates outputs only,
    and the largest of these once.
    """

    def __init__(
        self,
        interface: Interface,
        weights_table: int,
        pool: tuple[int, int],
        host: HostFrame | None,
        memory: Memory | None,
        times: KernelTimes | None,
        pools: Sequence[int] = (),
    ):
        """Args: `pools` are the bytes of the memories that make up the arena, where code takes several."""
        self.offsets = tuple(accumulate(pools[:-1], initial=0))
        slots = len(interface.inputs) + len(interface.outputs) + len(self.offsets)
        self.args = (ctypes.c_void_p * slots)()  # filled in half the time of a numpy array
        self.dims = np.zeros(max(1, len(interface.symbols) + len(interface.published)), np.int64)
        self.ctx = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64)
        self.ctx[CtxField.PARALLEL_FOR], self.ctx[CtxField.POOL] = pool
        self.ctx[CtxField.WEIGHTS] = weights_table
        self.host, self.memory = host, memory
        if host is not None:
            self.ctx[CtxField.HOST] = host.address
        if memory is not None:
            self.ctx[CtxField.ALLOCATE] = memory.address
        if times is not None:
            self.ctx[CtxField.CLOCK], self.ctx[CtxField.TIMES] = times.clock_address, times.times_address
        self.addresses = (ctypes.addressof(self.args), address_of(self.dims), address_of(self.ctx))
        self.arena: Array = np.empty(0, np.uint8)
        self.new_arena: Callable[[int], Array] = aligned_empty
        self.outputs = LargeOutputs()
        self.binding: Binding | None = None

    def prepare(self, binding: Binding) -> None:
        """Set symbol values and make the arena large enough."""
        self.binding = binding
        self.dims[: len(binding.symbols)] = binding.symbols
        if self.arena.nbytes < binding.arena_bytes:
            self.arena = self.new_arena(binding.arena_bytes)
        begin = address_of(self.arena)
        if len(self.offsets) == 1:
            self.args[-1] = begin
            return
        for place, offset in enumerate(self.offsets, start=len(self.args) - len(self.offsets)):
            self.args[place] = begin + offset
