"""Loads and stores: `ld` and `st` of one element or a vector, in any space."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from stepwell.lowering.interpret.ptx.code import LOCAL_WINDOW, SHARED_WINDOW, Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.memory import Access
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import TYPES, DType, Get, Value, as_type, per_lane

_ADDRESS = re.compile(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]$")
_SPACES = ("global", "shared", "local", "param")
_HARMLESS = (*_SPACES, "nc", "v2", "v4", "volatile", "relaxed", "weak", "sys", "gpu", "cta")
_POINTER = np.dtype(np.uint64)


def address_of(code: Code, operand: str) -> Get:
    """The address of an operand in brackets. Raises: ValueError."""
    if (found := _ADDRESS.match(operand)) is None:
        raise ValueError(operand)
    base, offset = code.get(found[1], _POINTER), np.array(int(found[2] or "0", 0)).astype(np.int64)
    if not offset:
        return base
    distance = offset.view(_POINTER)[()]
    return lambda frame: base(frame) + distance


def _parts(instruction: Instruction) -> tuple[str, DType, int]:
    """The space, the type of an element and the number of elements. Raises: KeyError, ValueError."""
    *modifiers, type = instruction.parts[1:]
    if not {*modifiers} <= {*_HARMLESS}:
        raise ValueError(instruction.text)
    space = next((each for each in modifiers if each in _SPACES), "generic")
    count = 4 if "v4" in modifiers else 2 if "v2" in modifiers else 1
    return space, TYPES[type], count


def _names(operand: str) -> list[str]:
    return [each.strip() for each in operand.strip("{}").split(",")]


@makes("ld")
def make_load(code: Code, instruction: Instruction) -> Step:
    """A load; from parameters the number that the launch passes."""
    space, dtype, count = _parts(instruction)
    target, place = instruction.operands
    if space == "param":
        return _parameter(code, instruction, dtype)
    puts, address = [code.put(name) for name in _names(target)], address_of(code, place)
    if len(puts) != count:
        raise ValueError(instruction.text)
    access = checked_access(space, instruction, dtype, count, is_store=False)

    def run(frame: Frame) -> None:
        found = access(frame, address(frame))
        view, index = found.region.view(dtype), found.index(dtype.itemsize)
        for number, put in enumerate(puts):
            put(frame, spread(frame, found, view.take(index + number if number else index)))

    return run


def spread(frame: Frame, access: Access, values: Value) -> Value:
    """Values of the active lanes as values of all lanes."""
    if access.lanes is None or not np.ndim(values):
        return values
    found = np.zeros(frame.group.lanes, values.dtype)
    found[access.lanes] = values
    return found


def _parameter(code: Code, instruction: Instruction, dtype: DType) -> Step:
    """A load of a parameter. Raises: ValueError for a part of one."""
    found = _ADDRESS.match(instruction.operands[1])
    names = [name for name, _ in code.entry.parameters]
    if found is None or found[1] not in names or found[2] not in (None, "0"):
        raise ValueError(instruction.text)
    put, name = code.put(instruction.operands[0]), found[1]
    return lambda frame: put(frame, as_type(frame.parameters[name], dtype))


@makes("st")
def make_store(code: Code, instruction: Instruction) -> Step:
    """A store: the last lane wins where several lanes store to one address."""
    space, dtype, count = _parts(instruction)
    place, source = instruction.operands
    gets, address = [code.get(name, dtype) for name in _names(source)], address_of(code, place)
    if len(gets) != count or space == "param":
        raise ValueError(instruction.text)
    access = checked_access(space, instruction, dtype, count, is_store=True)

    def run(frame: Frame) -> None:
        found = access(frame, address(frame))
        view, index = found.region.view(dtype), found.index(dtype.itemsize)
        for number, get in enumerate(gets):
            value = get(frame)
            if found.lanes is not None and value.ndim:
                value = value[found.lanes]
            elif value.ndim and not np.ndim(index):
                # All lanes store to one place.
                value = value[-1 if frame.mask is None else int(np.flatnonzero(frame.mask)[-1])]
            view[index + number] = value

    return run


def checked_access(
    space: str, instruction: Instruction, dtype: DType, count: int, *, is_store: bool
) -> Callable[[Frame, Value], Access]:
    """The function that checks the addresses of a load or a store."""
    bytes_each = dtype.itemsize * count

    def access(frame: Frame, address: Value) -> Access:
        name = space
        if name == "generic":
            name, address = _resolved(frame, instruction, address)
        found = Access(instruction, frame.group, frame.mask, bytes_each, is_store)
        frame.memory.spaces[name].access(found, address, frame.memory.rows(name))
        return found

    return access


def _resolved(frame: Frame, instruction: Instruction, address: Value) -> tuple[str, Value]:
    """The space of a generic address, and the address there. Raises: StepwellError `unsupported-ptx`."""
    lanes = per_lane(address, frame.group.lanes)
    active = lanes if frame.mask is None else lanes[frame.mask]
    low, high = int(active.min()), int(active.max())
    for name, window in (("local", LOCAL_WINDOW), ("shared", SHARED_WINDOW), ("global", 0)):
        if low >= window:
            return name, address - np.uint64(window)
        if high >= window:
            raise instruction.unsupported("lanes access several spaces by one instruction")
    raise AssertionError(low)
