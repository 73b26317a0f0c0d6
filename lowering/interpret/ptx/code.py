"""The preparation of an entry: each instruction becomes a function on a frame, by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from stepwell.lowering.interpret.lanes.state import DIMENSIONS, Group
from stepwell.lowering.interpret.ptx.reader import Entry, Instruction
from stepwell.lowering.interpret.ptx.values import (
    BITS,
    DType,
    Get,
    Mask,
    Value,
    as_type,
    fitted,
    merged,
    number,
)

Step: TypeAlias = "Callable[[Frame], None]"
Maker: TypeAlias = "Callable[[Code, Instruction], Step]"

SHARED_WINDOW, LOCAL_WINDOW = 1 << 56, 1 << 57
"""The generic addresses of the memory of blocks and threads begin there."""
_MAKERS: dict[str, Maker] = {}
_GROUP_SIZES: Mapping[str, Callable[[Group], tuple[int, int, int]]] = {
    "ntid": lambda group: group.block,
    "nctaid": lambda group: group.grid,
}
_U32 = np.dtype(np.uint32)


@dataclass(slots=True)
class Frame:
    """The state of the threads that run together."""

    registers: list[Value]
    group: Group
    memory: Any
    parameters: Mapping[str, Value]
    mask: Mask = None
    known: dict[str, Value] = field(default_factory=dict[str, Value])
    """Special registers that were read."""


def makes(*names: str) -> Callable[[Maker], Maker]:
    """Register the preparation of instructions by the first part of their name."""

    def register(maker: Maker) -> Maker:
        _MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return register


class Code:
    """The prepared steps of an entry's blocks."""

    def __init__(self, entry: Entry):
        self.entry = entry

    def step(self, instruction: Instruction) -> Step:
        """An instruction as a function. Raises: StepwellError `unsupported-ptx`."""
        if (maker := _MAKERS.get(instruction.parts[0])) is None:
            raise instruction.unsupported("no such instruction")
        try:
            made = maker(self, instruction)
        except (KeyError, ValueError, IndexError):
            raise instruction.unsupported("operands or modifiers that are not known") from None
        if instruction.guard is None:
            return made
        return _guarded(made, self.predicate(instruction))

    def predicate(self, instruction: Instruction) -> Get:
        """The lanes in which a guarded instruction runs. Raises: StepwellError `unsupported-ptx`."""
        assert instruction.guard is not None
        if instruction.guard not in self.entry.registers:
            raise instruction.unsupported("no such predicate")
        get = self.get(instruction.guard, np.dtype(np.bool_))
        return (lambda frame: ~get(frame)) if instruction.is_negated else get

    def get(self, operand: str, dtype: DType) -> Get:
        """The function that reads an operand as a type. Raises: ValueError for one that is not known."""
        if operand in self.entry.registers:
            position = self.entry.registers[operand][0]

            def read(frame: Frame) -> Value:
                value = frame.registers[position]
                if value is None:
                    return dtype.type(0)
                return value if value.dtype == dtype else as_type(value, dtype)

            return read
        if operand.startswith("%"):
            special = _special(operand)
            return lambda frame: as_type(_known(frame, operand, special), dtype)
        constant = (
            np.array(self.entry.addresses[operand], BITS[dtype.itemsize])[()].view(dtype)
            if operand in self.entry.addresses
            else number(operand, dtype)
        )
        return lambda frame: constant

    def put(self, operand: str) -> Callable[[Frame, Value], None]:
        """The function that writes a register in the active lanes."""
        if operand == "_":
            return lambda frame, value: None
        position, bits = self.entry.registers[operand]

        def write(frame: Frame, value: Value) -> None:
            registers = frame.registers
            registers[position] = merged(frame.mask, fitted(value, bits), registers[position])

        return write


def _guarded(step: Step, predicate: Get) -> Step:
    """A step that runs in some of the active lanes."""

    def run(frame: Frame) -> None:
        mask, holds = frame.mask, predicate(frame)
        if not holds.ndim:
            if holds:
                step(frame)
            return
        active = holds if mask is None else holds & mask
        frame.mask = active
        if active.any():
            step(frame)
        frame.mask = mask

    return run


def _known(frame: Frame, name: str, read: Callable[[Group], Value]) -> Value:
    if (value := frame.known.get(name)) is None:
        found = read(frame.group)
        value = frame.known[name] = np.asarray(found).astype(_U32)[()]
    return value


def _special(name: str) -> Callable[[Group], Value]:
    """The value of a special register, such as `%tid.x`. Raises: ValueError."""
    base, _, axis = name.removeprefix("%").partition(".")
    if base == "laneid":
        return lambda group: group.thread_number % group.warp
    if base == "WARP_SZ":
        return lambda group: group.warp
    if axis not in DIMENSIONS:
        raise ValueError(name)
    position = DIMENSIONS.index(axis)
    if base == "tid":
        return lambda group: group.thread_id(position)
    if base == "ctaid":
        return lambda group: group.block_id(position)
    if base in _GROUP_SIZES:
        sizes = _GROUP_SIZES[base]
        return lambda group: sizes(group)[position]
    raise ValueError(name)
