"""
The values in registers besides arrays and machine integers: data, function values, cells, storage.

A data value or tuple is a Python tuple: its constructor, then its fields. A chain of a million of them is
freed by Python without recursion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.interface import Array
from stepwell.runtime.vm.program import Program, short_name

Value = Any
"""An array, an int, a tuple whose first item is a `Tag`, a `Closure`, a `Cell` or a `Storage`."""
Registers = list[Value]
Step = Callable[[Registers], None]
"""An instruction that goes on at the next one."""


class Fault(Exception):
    """An error of an instruction, before the machine adds where it is."""

    def __init__(self, code: str, message: str, *, is_last: bool = False):
        super().__init__(message)
        self.code, self.message = code, message
        self.is_last = is_last
        """Whether the instruction is the last of its block."""


class Tag:
    """The constructor of data values: equal ones are one object in a machine."""

    __slots__ = ("data", "name", "tag")

    def __init__(self, data: str, name: str, tag: int):
        self.data, self.name, self.tag = data, name, tag


TUPLE_TAG = Tag("", "tuple", 0)
"""The constructor of tuples."""


class Closure:
    """A function value: the number of a function, with the first arguments."""

    __slots__ = ("captures", "function")

    def __init__(self, function: int, captures: tuple[Value, ...]):
        self.function, self.captures = function, captures


class Cell:
    """A mutable cell."""

    __slots__ = ("value",)

    def __init__(self, value: Value):
        self.value = value


class Storage:
    """Memory in which tensors are made."""

    __slots__ = ("memory",)

    def __init__(self, memory: npt.NDArray[np.uint8]):
        self.memory = memory


def tags_of(program: Program) -> list[list[Tag]]:
    """The constructors of a program, by the numbers of data types and tags."""
    return [
        [Tag(data.name, constructor.name, tag) for tag, constructor in enumerate(data.constructors)]
        for data in program.data
    ]


def kind_of(value: Value) -> str:
    """The kind of a value in words, for errors."""
    match value:
        case np.ndarray():
            return f"the tensor {described(value)}"
        case int():
            return f"the machine integer {value}"
        case tuple():
            return f"the data {described(value)}" if value[0] is not TUPLE_TAG else "a tuple"
        case _:
            return f"a {type(value).__name__.lower()}"


def wrong_kind(wanted: str, value: Value, *, is_last: bool = False) -> Fault:
    """The error of an instruction that is given another kind of value."""
    return Fault("bad-bytecode", f"expected {wanted}, found {kind_of(value)}", is_last=is_last)


def described(value: Value) -> str:
    """A value in short: element type and sizes of a tensor, constructor and number of fields of data."""
    match value:
        case np.ndarray():
            array = cast(Array, value)
            return f"{short_name(array.dtype.name)}[{', '.join(map(str, array.shape))}]"
        case tuple():
            tag, *fields = cast("tuple[Value, ...]", value)
            return f"{tag.name}/{len(fields)}"
        case Closure():
            return f"closure of {value.function}"
        case Storage():
            return f"storage of {value.memory.nbytes} bytes"
        case Cell():
            return "cell"
        case _:
            return str(value)


def size_bytes(value: Value) -> int:
    """The memory of a value itself in bytes, without that of values inside."""
    if isinstance(value, np.ndarray):
        array = cast(Array, value)
        return sys.getsizeof(array) + (0 if array.base is None else array.nbytes)
    if isinstance(value, Storage):
        return sys.getsizeof(value) + value.memory.nbytes
    return sys.getsizeof(value)


def values_inside(value: Value) -> tuple[Value, ...]:
    """The values directly inside of a value."""
    match value:
        case tuple():
            return cast("tuple[Value, ...]", value)[1:]
        case Closure():
            return value.captures
        case Cell():
            return (value.value,)
        case Storage():
            return (value.memory,)
        case _:
            return ()
