"""Programs as bytecode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar, cast

import numpy as np

from stepwell.runtime.interface import Array, StateSpec
from stepwell.runtime.vm.instructions import FIELDS, INSTRUCTIONS, ConstructorOf, Kind, Outputs
from stepwell.runtime.vm.program import (
    KINDS,
    Code,
    Constant,
    DataType,
    Function,
    Location,
    Packed,
    Program,
    Type,
)
from stepwell.runtime.vm.wire import VERSION, Writer

T = TypeVar("T", bound=Hashable)

INLINE_BYTES = 256
"""Constants of at most so many bytes are in the bytecode; larger ones are weights of the artifact."""


class _Table(Generic[T]):
    """The numbers of equal items, from 0 on in the order in which they are asked for."""

    def __init__(self) -> None:
        self.items: dict[T, int] = {}

    def __getitem__(self, item: T) -> int:
        return self.items.setdefault(item, len(self.items))


def encode(program: Program, weights: list[Array]) -> bytes:
    """
    The bytes of a program.

    Args: `weights` are the artifact's weights, to which large constants are added, once each.
    """
    return _Encoder(weights).encoded(program)


class _Encoder:
    """The tables of a program that is being encoded; what refers to them is written first."""

    def __init__(self, weights: list[Array]):
        self._weights = weights
        self._texts: _Table[str] = _Table()
        self._types: _Table[Type] = _Table()
        self._bodies: _Table[bytes] = _Table()
        self._locations: _Table[Location] = _Table()

    def encoded(self, program: Program) -> bytes:
        """The bytes."""
        data = self._all(program.data, self._data)
        constants = self._all(program.constants, self._constant)
        packed = self._all(program.packed, self._packed)
        functions = self._all(program.functions, self._function)
        locations = self._all(tuple(self._locations.items), self._location)
        types = self._all(tuple(self._types.items), self._type)
        head = Writer()
        head.data += VERSION.to_bytes(2, "little")
        head.number(len(self._texts.items))
        for text in self._texts.items:
            head.block(text.encode())
        bodies = Writer()
        bodies.number(len(self._bodies.items))
        for body in self._bodies.items:
            bodies.data += body
        return b"".join([head.data, types, data, constants, packed, bodies.data, functions, locations])

    def _all(self, items: Sequence[object], write: Callable[..., None]) -> bytes:
        out = Writer()
        out.number(len(items))
        for item in items:
            write(out, item)
        return bytes(out.data)

    def _type_number(self, type: Type) -> int:
        for part in type.parts:
            self._type_number(part)
        return self._types[type]

    def _type(self, out: Writer, type: Type) -> None:
        out.data.append(KINDS.index(type.kind))
        out.number(self._texts[type.name])
        out.numbers(self._texts[dim] for dim in type.dims)
        out.numbers(self._types[part] for part in type.parts)

    def _type_list(self, out: Writer, types: Sequence[Type]) -> None:
        out.numbers(self._type_number(type) for type in types)

    def _data(self, out: Writer, data: DataType) -> None:
        out.number(self._texts[data.name])
        out.numbers(self._texts[name] for name in data.parameters)
        out.numbers(self._texts[kind] for kind in data.kinds)
        out.number(len(data.constructors))
        for name, fields in data.constructors:
            out.number(self._texts[name])
            self._type_list(out, fields)

    def _constant(self, out: Writer, constant: Constant) -> None:
        array = constant.array
        out.number(self._texts[constant.name])
        if array.nbytes > INLINE_BYTES:
            known = [n for n, weight in enumerate(self._weights) if _same(weight, array)]
            out.number(1 + (known[0] if known else len(self._weights)))
            self._weights += [] if known else [array]
            return
        out.number(0)
        out.number(self._texts[array.dtype.name])
        out.numbers(array.shape)
        out.block(np.ascontiguousarray(array).tobytes())

    def _packed(self, out: Writer, packed: Packed) -> None:
        out.number(self._texts[packed.name])
        out.data.append(packed.is_host)
        self._type_list(out, packed.inputs)
        self._type_list(out, packed.outputs)

    def _function(self, out: Writer, function: Function) -> None:
        out.number(self._texts[function.name])
        out.number(function.parameters)
        out.number(function.registers)
        out.number(self._bodies[self._body(function.code)])
        out.data.append(function.signature is not None)
        if function.signature is not None:
            self._type_list(out, function.signature.inputs)
            self._type_list(out, function.signature.outputs)
            out.numbers(self._texts[name] for name in function.signature.names)
            out.number(len(function.signature.states))
            for state in function.signature.states:
                self._state(out, state)
        runs = [(pc, self._locations[location]) for pc, location in function.locations]
        out.numbers(number for run in runs for number in run)

    def _state(self, out: Writer, state: StateSpec) -> None:
        out.number(self._texts[state.name])
        out.number(state.input)
        for value in (state.output, state.initial, state.axis):
            out.option(value)
        out.option(None if state.adds is None else self._texts[str(state.adds)])

    def _location(self, out: Writer, location: Location) -> None:
        out.number(len(location))
        for place in location:
            out.number(self._texts[place.name])
            out.number(self._texts[place.file])
            out.number(place.line)
            out.number(place.column)

    def _body(self, code: Sequence[Code]) -> bytes:
        out = Writer()
        out.number(len(code))
        for name, operands in code:
            out.data.append(INSTRUCTIONS[name].opcode)
            for field, value in zip(FIELDS[name], operands, strict=True):
                self._operand(out, field.kind, value)
        return bytes(out.data)

    def _operand(self, out: Writer, kind: Kind, value: object) -> None:
        match value:
            case Outputs():
                out.data.append(value.are_given)
                out.numbers(value.registers)
            case ConstructorOf():
                out.number(value.data + 1)
                out.number(value.tag)
            case Type():
                out.number(self._type_number(value))
            case str():
                out.number(self._texts[value])
            case tuple():
                out.numbers(cast("tuple[int, ...]", value))
            case _ if kind is Kind.INTEGER:
                out.integer(cast(int, value))
            case _:
                out.number(cast(int, value))


def _same(a: Array, b: Array) -> bool:
    if a is b:
        return True
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
