"""Commands whose inputs or outputs are arrays of the device, in place of slices of the arena."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from stepwell.runtime.devices.commands import ARENA, Command, Copy, CopyIn, CopyOut, Launch, Number, Slice
from stepwell.runtime.dims import Dim


class OnDevice(NamedTuple):
    """The inputs that are arrays of the device already, and the outputs that stay there."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class _Range(NamedTuple):
    """The bytes of an input or output in the arena, and the memory in their place."""

    first: int
    last: int
    space: str


def input_space(number: int) -> str:
    """The memory of an input that is an array of the device."""
    return f"input{number}"


def output_space(number: int) -> str:
    """The memory of an output that stays on the device."""
    return f"output{number}"


def on_arrays(commands: Sequence[Command], chosen: OnDevice) -> list[Command]:
    """
    Commands with numbers, whose chosen inputs and outputs are in memory of their own.

    Copies from and to the host are removed where they are not needed. An output that shares the bytes of an
    input is the input's array.
    """
    ranges = [*_ranges(commands, chosen)]
    moved: list[Command] = []
    for command in commands:
        match command:
            case CopyIn() if command.number in chosen.inputs:
                continue
            case CopyOut() if command.number in chosen.outputs:
                continue
            case CopyIn():
                moved.append(command._replace(to=_moved(command.to, ranges)))
            case CopyOut():
                moved.append(command._replace(source=_moved(command.source, ranges)))
            case Copy():
                moved.append(Copy(_moved(command.source, ranges), _moved(command.to, ranges)))
            case Launch():
                given = tuple(
                    each if isinstance(each, Number) else _moved(each, ranges) for each in command.arguments
                )
                moved.append(command._replace(arguments=given))
    return moved


def needs_arena(commands: Iterable[Command]) -> bool:
    """Whether commands access the arena."""
    return any(array.space == ARENA for command in commands for array in _slices(command))


def _slices(command: Command) -> Sequence[Slice]:
    """The arrays that a command accesses."""
    match command:
        case Launch():
            return [each for each in command.arguments if isinstance(each, Slice)]
        case CopyIn():
            return [command.to]
        case CopyOut():
            return [command.source]
        case Copy():
            return [command.source, command.to]


def passed_on(commands: Iterable[Command]) -> Mapping[int, int]:
    """Maps outputs to the inputs whose bytes they are."""
    inputs = {command.to.offset: command.number for command in commands if isinstance(command, CopyIn)}
    outputs = [command for command in commands if isinstance(command, CopyOut)]
    return {each.number: inputs[each.source.offset] for each in outputs if each.source.offset in inputs}


def _ranges(commands: Sequence[Command], chosen: OnDevice) -> Iterable[_Range]:
    """The ranges of the arena whose values are in memory of their own; inputs first."""
    for command in commands:
        if isinstance(command, CopyIn) and command.number in chosen.inputs:
            yield _range(command.to, input_space(command.number))
    for command in commands:
        if isinstance(command, CopyOut) and command.number in chosen.outputs:
            yield _range(command.source, output_space(command.number))


def _range(place: Slice, space: str) -> _Range:
    return _Range(place.offset.value, place.offset.value + place.nbytes.value, space)


def _moved(array: Slice, ranges: Sequence[_Range]) -> Slice:
    """A slice of the arena, or of the memory that has its bytes instead."""
    if array.space != ARENA:
        return array
    first = array.offset.value
    for each in ranges:
        if each.first <= first and first + array.nbytes.value <= each.last:
            return array._replace(space=each.space, offset=Dim.of(first - each.first))
    return array
