"""Limits of a call: bytes that are alive, instructions that run."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.runtime.vm.instructions import registers_written
from stepwell.runtime.vm.linked import Frame
from stepwell.runtime.vm.objects import Fault, Registers, Step, Value, size_bytes, values_inside
from stepwell.runtime.vm.program import Function

ALLOCATING = frozenset(
    ("invoke_packed", "alloc_adt", "alloc_closure", "new_ref", "alloc_storage", "shape_of")
)
"""The instructions that make objects."""
_POINTER_BYTES = 8


class NoHooks:
    """An observer of nothing, for those of some instructions."""

    def before(self, function: Function, pc: int) -> Step | None:
        """Nothing."""
        return None

    def after(self, function: Function, pc: int) -> Step | None:
        """Nothing."""
        return None

    def start(self, stack: Sequence[Frame]) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class InstructionLimit(NoHooks):
    """The most instructions of a call."""

    def __init__(self, most: int):
        self._most, self._left = most, most

    def start(self, stack: Sequence[Frame]) -> None:
        """Count from 0."""
        self._left = self._most

    def before(self, function: Function, pc: int) -> Step | None:
        """Count the instruction."""

        def count(r: Registers) -> None:
            self._left -= 1
            if self._left < 0:
                raise Fault("too-large", f"the call takes more than max_instructions = {self._most:,}")

        return count


class MemoryLimit(NoHooks):
    """
    The most bytes of tensors, objects and frames that are alive in a call.

    Bytes are added as objects are made; when the sum reaches the limit, those that are alive are added up.
    """

    def __init__(self, most: int):
        self._most, self._left = most, most
        self._stack: Sequence[Frame] = ()

    def start(self, stack: Sequence[Frame]) -> None:
        """Count from 0, in these frames."""
        self._left, self._stack = self._most, stack

    def stop(self) -> None:
        """Forget the frames."""
        self._stack = ()

    def after(self, function: Function, pc: int) -> Step | None:
        """Add the bytes of what an instruction made."""
        code = function.code[pc]
        if code.name not in ALLOCATING:
            return None
        written = registers_written(*code)

        def charge(r: Registers) -> None:
            for register in written:
                self._left -= size_bytes(r[register])
            if self._left < 0:
                self.measure(r)

        return charge

    def measure(self, registers: Registers | tuple[()]) -> None:
        """Add up what is alive in the frames and some registers. Raises: Fault `out-of-memory`."""
        alive = self._alive(registers)
        if alive > self._most:
            message = f"the call keeps {alive:,} bytes alive, more than max_memory = {self._most:,}"
            raise Fault("out-of-memory", message)
        # Not less than a part of the limit, so that a call near it does not measure at every object.
        self._left = max(self._most - alive, self._most >> 4)

    def _alive(self, registers: Registers | tuple[()]) -> int:
        total, seen = 0, set[int]()
        pending: list[Value] = list(registers)
        for frame, _ in self._stack:
            total += _POINTER_BYTES * len(frame)
            pending += frame
        while pending and total <= self._most:
            value = pending.pop()
            if value is None or id(value) in seen:
                continue
            seen.add(id(value))
            total += size_bytes(value)
            pending += values_inside(value)
        return total
