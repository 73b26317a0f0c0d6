"""
The host's side of a device part: copies and launches, with sizes that depend on symbols, or with numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.integers.summands import json_of
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.json_values import as_dim, as_list, as_size, as_text

ARENA, WEIGHTS = "arena", "weights"
_MOST_COUNT = (1 << 31) - 1
INDEX = "index"
"""The type of counts and sizes: 64 bits, or the type for them in the device's language."""
Sizes: TypeAlias = tuple[Dim, ...]


class Slice(NamedTuple):
    """An array in the arena or among the weights."""

    space: str
    offset: Dim
    dtype: str
    shape: Sizes

    @property
    def nbytes(self) -> Dim:
        """The bytes of the elements."""
        total = Dim.of(dtype_from_name(self.dtype).itemsize)
        for size in self.shape:
            total = total * size
        return total

    def __str__(self) -> str:
        return f"{self.space}+{self.offset}"


class Number(NamedTuple):
    """A number among a kernel's arguments: an index of any size, or a constant."""

    dtype: str
    value: Dim | float

    def __str__(self) -> str:
        return str(self.value)


class Launch(NamedTuple):
    """A launch of a kernel."""

    kernel: str
    grid: Sizes
    block: Sizes
    shared: Dim
    arguments: tuple[Slice | Number, ...]
    operations: Dim | None = None
    """The arithmetic of all threads, where it was counted."""

    def __str__(self) -> str:
        grid, block = (f"({', '.join(map(str, sizes))})" for sizes in (self.grid, self.block))
        arguments = ", ".join(map(str, self.arguments))
        return f"launch @{self.kernel} grid {grid} block {block} shared {self.shared} args ({arguments})"


class CopyIn(NamedTuple):
    """A copy of an input to the device."""

    number: int
    to: Slice

    def __str__(self) -> str:
        return f"copy-in input{self.number} -> {self.to} : {self.to.nbytes}"


class CopyOut(NamedTuple):
    """A copy of an output from the device."""

    source: Slice
    number: int

    def __str__(self) -> str:
        return f"copy-out {self.source} -> output{self.number} : {self.source.nbytes}"


class Copy(NamedTuple):
    """A copy within the device."""

    source: Slice
    to: Slice

    def __str__(self) -> str:
        return f"copy {self.source} -> {self.to} : {self.to.nbytes}"


Command: TypeAlias = Launch | CopyIn | CopyOut | Copy


def to_json(command: Command) -> list[object]:
    """A command as plain JSON values."""
    match command:
        case Launch():
            grid, block = ([json_of(d) for d in sizes] for sizes in (command.grid, command.block))
            arguments = [_json(each) for each in command.arguments]
            counted = [] if command.operations is None else [json_of(command.operations)]
            return ["launch", command.kernel, grid, block, json_of(command.shared), arguments, *counted]
        case CopyIn():
            return ["copy-in", command.number, _json(command.to)]
        case CopyOut():
            return ["copy-out", _json(command.source), command.number]
        case Copy():
            return ["copy", _json(command.source), _json(command.to)]


def from_json(data: object) -> Command:
    """The command of `to_json`. Raises: ValueError, KeyError, TypeError for anything else."""
    kind, *fields = as_list(data)
    if kind == "launch" and len(fields) in (5, 6):  # without a count in files of earlier versions
        kernel, grid, block, shared, arguments, *counted = fields
        given = tuple(_argument(each) for each in as_list(arguments))
        operations = as_dim(counted[0]) if counted else None
        return Launch(as_text(kernel), _triple(grid), _triple(block), as_dim(shared), given, operations)
    first, second = fields
    if kind == "copy-in":
        return CopyIn(as_size(first), slice_of(second))
    if kind == "copy-out":
        return CopyOut(slice_of(first), as_size(second))
    if kind == "copy":
        return Copy(slice_of(first), slice_of(second))
    raise ValueError(f"no command: {kind}")


def slice_of(data: object) -> Slice:
    """The slice of JSON values. Raises: ValueError, TypeError."""
    space, offset, dtype, shape = as_list(data, 4)
    if space not in (ARENA, WEIGHTS):
        raise ValueError(f"no memory: {space}")
    name = as_text(dtype)
    if dtype_from_name(name).hasobject:
        raise ValueError(f"a device has no elements of type {name}")
    return Slice(as_text(space), as_dim(offset), name, tuple(map(as_dim, as_list(shape))))


def slice_json(found: Slice) -> list[object]:
    """A slice as plain JSON values."""
    return [found.space, json_of(found.offset), found.dtype, [json_of(size) for size in found.shape]]


def _json(argument: Slice | Number) -> list[object]:
    if isinstance(argument, Slice):
        return slice_json(argument)
    value = argument.value
    return [argument.dtype, json_of(value) if isinstance(value, Dim) else value]


def _argument(data: object) -> Slice | Number:
    listed = as_list(data)
    if len(listed) != 2:
        return slice_of(data)
    dtype, value = as_text(listed[0]), listed[1]
    if dtype == INDEX:
        return Number(INDEX, as_dim(value))
    dtype_from_name(dtype)
    if not isinstance(value, int | float):
        raise TypeError(f"no number: {value!r}")
    return Number(dtype, value)


def _triple(data: object) -> Sizes:
    return tuple(map(as_dim, as_list(data, 3)))


def bound(command: Command, symbols: Mapping[str, int], sizes: Mapping[str, int]) -> Command | None:
    """
    A command with numbers for symbols; None for one of no elements.

    Args: `sizes` are the bytes of the arena and of the weights.
    Raises: StepwellError `bad-artifact` for arrays that are not inside of the memory.
    """

    def number(dim: Dim) -> Dim:
        return Dim.of(dim.evaluate(symbols))

    def array(found: Slice) -> Slice:
        made = found._replace(offset=number(found.offset), shape=tuple(map(number, found.shape)))
        first, last = made.offset.value, made.offset.value + made.nbytes.value
        if first < 0 or last > sizes[made.space] or any(size.value < 0 for size in made.shape):
            message = f"a device part accesses {made.space} at {first} to {last} of {sizes[made.space]} bytes"
            raise StepwellError("bad-artifact", None, message)
        return made

    match command:
        case Launch():
            grid, block = (tuple(map(number, each)) for each in (command.grid, command.block))
            given = [
                array(each)
                if isinstance(each, Slice)
                else each._replace(value=number(each.value) if isinstance(each.value, Dim) else each.value)
                for each in command.arguments
            ]
            counted = None if command.operations is None else number(command.operations)
            made = Launch(command.kernel, grid, block, number(command.shared), tuple(given), counted)
            _expect_counts(made)
            return made if all(size.value > 0 for size in grid) else None
        case CopyIn() | Copy():
            made = command._replace(to=array(command.to))
            made = made if isinstance(made, CopyIn) else made._replace(source=array(made.source))
            return made if made.to.nbytes.value else None
        case CopyOut():
            made = command._replace(source=array(command.source))
            return made if made.source.nbytes.value else None


def _expect_counts(launch: Launch) -> None:
    """Require numbers of blocks, threads and bytes that drivers can be given. Raises: StepwellError."""
    for size in (*launch.grid, *launch.block, launch.shared):
        if not 0 <= size.value <= _MOST_COUNT:
            message = f"@{launch.kernel} is launched with {size.value} blocks, threads or bytes"
            raise StepwellError("bad-artifact", None, f"{message}; 0 to {_MOST_COUNT} are possible")


def commands_of(data: object) -> list[Command]:
    """The commands of a list. Raises: ValueError, KeyError, TypeError."""
    return [from_json(each) for each in as_list(data)]
