"""A program of the machine as Python objects: what bytecode encodes and the `vm` dialect prints."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from stepwell.runtime.interface import Array, StateSpec

TENSOR, TUPLE, DATA, FUNCTION, CELL = "tensor", "tuple", "data", "function", "cell"
VARIABLE, ELEMENT = "variable", "element"
KINDS = (TENSOR, TUPLE, DATA, FUNCTION, CELL, VARIABLE, ELEMENT)
"""The kinds of types, in the order of their numbers in bytecode."""
VARIABLE_KINDS = ("type", "any", "float", "integer", "number", "bool")
"""The kinds of type variables: any type, or an element type of a set."""
_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "ui", "complex": "c"}


class Type(NamedTuple):
    """
    The type of a value: of a tensor, tuple, data type, function or cell; a variable of a data type, or an
    element type, which is an argument of data types and the type of machine integers.

    `str` of one is what users read: `f32[N, 4]`, `List(f32[])`, `(f32[]) -> f32[]`.
    """

    kind: str
    name: str = ""
    """
    An element type as numpy names it, the name of a data type or of a variable; `!E` for a variable `E` that
    is the element type of a tensor.
    """
    dims: tuple[str, ...] = ()
    """The sizes of a tensor: numbers, symbols, expressions, or `?`."""
    parts: tuple[Type, ...] = ()
    """Fields of a tuple, arguments of a data type, contents of a cell; of a function two tuples."""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.parts))
        match self.kind:
            case "tensor":
                return f"{short_name(self.name)}[{', '.join(self.dims)}]"
            case "tuple":
                return f"({shown},)" if len(self.parts) == 1 else f"({shown})"
            case "data":
                return f"{self.name}({shown})" if self.parts else self.name
            case "function":
                inputs, outputs = (part.parts for part in self.parts)
                result = str(outputs[0]) if len(outputs) == 1 else f"({', '.join(map(str, outputs))})"
                return f"({', '.join(map(str, inputs))}) -> {result}"
            case "cell":
                return f"cell of {shown}"
            case "element":
                return short_name(self.name)
            case _:
                return self.name


def tensor(element: str, *dims: int | str) -> Type:
    """The type of a tensor: `tensor("float32", "N", 4)`."""
    return Type(TENSOR, element, tuple(map(str, dims)))


def tuple_of(*fields: Type) -> Type:
    """The type of a tuple."""
    return Type(TUPLE, parts=fields)


def data_of(name: str, *arguments: Type) -> Type:
    """A data type, applied to its arguments."""
    return Type(DATA, name, parts=arguments)


def function_of(inputs: tuple[Type, ...], outputs: tuple[Type, ...]) -> Type:
    """The type of a function value."""
    return Type(FUNCTION, parts=(tuple_of(*inputs), tuple_of(*outputs)))


def short_name(element: str) -> str:
    """The IR's name of an element type: `f32` of `float32`."""
    letters = element.rstrip("0123456789")
    return _SHORT[letters] + element[len(letters) :] if letters in _SHORT else element


def substituted(type: Type, arguments: Mapping[str, Type]) -> Type:
    """A type with variables replaced; those without an argument stay."""
    if type.kind == VARIABLE:
        return arguments.get(type.name, type)
    if type.name.startswith("!") and (element := arguments.get(type.name[1:])) is not None:
        return type._replace(name=element.name)
    if not type.parts or not arguments:
        return type
    return type._replace(parts=tuple(substituted(part, arguments) for part in type.parts))


MAX_NESTING = 64
"""The most levels of a type; deeper ones are refused when bytecode is read."""
MAX_PARTS = 4096
"""The most types inside a type, each counted as often as it occurs."""


class Constructor(NamedTuple):
    """A constructor of a data type."""

    name: str
    fields: tuple[Type, ...]


class DataType(NamedTuple):
    """A data type: constructors in the order of their tags, over type variables."""

    name: str
    parameters: tuple[str, ...]
    kinds: tuple[str, ...]
    """`type`, or a set of element types, for each parameter."""
    constructors: tuple[Constructor, ...]

    def fields(self, tag: int, arguments: tuple[Type, ...]) -> tuple[Type, ...]:
        """The types of a constructor's fields where the data type is applied to arguments."""
        given = dict(zip(self.parameters, arguments, strict=True))
        return tuple(substituted(field, given) for field in self.constructors[tag].fields)


class Constant(NamedTuple):
    """A row of the table of constants: the array, and for a weight its name."""

    name: str
    array: Array


class Packed(NamedTuple):
    """A function on tensors that is called from outside of the program: a segment, or one of the host."""

    name: str
    is_host: bool
    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]


class Place(NamedTuple):
    """A part of a location: the name of a node, or a line of a file."""

    name: str = ""
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        file = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f'{f"{file}: " if file else ""}node "{self.name}"' if self.name else file


Location = tuple[Place, ...]
"""The places in the model that an instruction comes from."""


class Code(NamedTuple):
    """An instruction of a function: its name, and operands in the order of the table's text."""

    name: str
    operands: tuple[object, ...]


class Signature(NamedTuple):
    """The interface of a public function: types, and names of inputs, `""` where the model gives none."""

    inputs: tuple[Type, ...]
    outputs: tuple[Type, ...]
    names: tuple[str, ...] = ()
    states: tuple[StateSpec, ...] = ()
    """The inputs and outputs that live between calls; their initial values are rows of the constants."""

    def name_of(self, index: int) -> str:
        """The name by which users give an input."""
        return (self.names[index] if index < len(self.names) else "") or f"input{index}"

    @property
    def public(self) -> Signature:
        """The interface as callers see it, without states."""
        if not self.states:
            return self
        read, written = {state.input for state in self.states}, {state.output for state in self.states}
        inputs = [number for number in range(len(self.inputs)) if number not in read]
        outputs = (type for number, type in enumerate(self.outputs) if number not in written)
        names = tuple(self.name_of(number) for number in inputs)
        return Signature(tuple(self.inputs[number] for number in inputs), tuple(outputs), names)


class Function(NamedTuple):
    """A function: its parameters are the first registers."""

    name: str
    parameters: int
    registers: int
    code: tuple[Code, ...]
    signature: Signature | None = None
    """Of a public function; None for a private one."""
    locations: tuple[tuple[int, Location], ...] = ()
    """The instructions from which on the location is another one, in order."""

    def places(self, pc: int) -> Location:
        """The location of an instruction, empty where it is not known."""
        run = bisect_right(self.locations, pc, key=lambda run: run[0]) - 1
        return self.locations[run][1] if run >= 0 else ()

    def location(self, pc: int) -> str:
        """The location of an instruction as text, empty where it is not known."""
        return ", ".join(dict.fromkeys(map(str, self.places(pc))))


def location_runs(locations: Sequence[Location]) -> tuple[tuple[int, Location], ...]:
    """The runs of equal locations of a function's instructions; none where no location is known."""
    runs = [
        (pc, location)
        for pc, location in enumerate(locations)
        if location != (locations[pc - 1] if pc else ())
    ]
    return tuple(runs)


class Program(NamedTuple):
    """A whole program."""

    data: tuple[DataType, ...]
    constants: tuple[Constant, ...]
    packed: tuple[Packed, ...]
    functions: tuple[Function, ...]

    def public(self) -> Iterator[Function]:
        """The functions that users may call."""
        return (function for function in self.functions if function.signature is not None)
