"""Bytecode as programs; nothing is believed that the bytes claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, StateSpec, dtype_from_name
from stepwell.runtime.vm.instructions import FIELDS, INSTRUCTIONS, ConstructorOf, Kind, Outputs
from stepwell.runtime.vm.program import (
    KINDS,
    MAX_NESTING,
    MAX_PARTS,
    Code,
    Constant,
    Constructor,
    DataType,
    Function,
    Location,
    Packed,
    Place,
    Program,
    Signature,
    Type,
)
from stepwell.runtime.vm.wire import VERSION, Reader

_MAX_RANK = 64
_OPCODES = {row.opcode: row.name for row in INSTRUCTIONS.values()}


def decode(data: bytes, weights: Sequence[Array] = ()) -> Program:
    """
    The program of bytes, which the verifier has still to check.

    Args: `weights` are those of the artifact.
    Raises: StepwellError `bad-artifact` for another version, `bad-bytecode` for what no encoder wrote.
    """
    version = int.from_bytes(data[:2], "little")
    if len(data) >= 2 and version != VERSION:
        message = f"the bytecode has version {version}, this Stepwell reads version {VERSION}"
        raise StepwellError("bad-artifact", None, message, help="compile the program again")
    try:
        return _Decoder(data, weights).program()
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise StepwellError("bad-bytecode", None, f"this is no whole bytecode: {error}") from None


class _Row(NamedTuple):
    """A function whose locations, which follow, are numbers."""

    function: Function
    numbers: tuple[int, ...]


class _Decoder:
    """The tables of bytecode that is being read."""

    def __init__(self, data: bytes, weights: Sequence[Array]):
        self._in = Reader(data)
        self._weights = weights
        self._texts: tuple[str, ...] = ()
        self._types: list[tuple[Type, int, int]] = []
        """The types, with the number of levels in each and that of the types inside."""

    def program(self) -> Program:
        """The program. Raises: ValueError."""
        source = self._in
        source.skip(2)
        self._texts = source.many(lambda: source.block().decode())
        source.many(lambda: self._types.append(self._type()))
        data, constants = source.many(self._data), source.many(self._constant)
        packed, bodies = source.many(self._packed), source.many(self._body)
        rows = source.many(lambda: self._function(bodies))
        locations = source.many(lambda: source.many(self._place))
        if source.left:
            raise ValueError(f"{source.left} bytes are left")
        functions = (row.function._replace(locations=_runs(row, locations)) for row in rows)
        return Program(data, constants, packed, tuple(functions))

    def _text(self) -> str:
        return self._texts[self._in.number(len(self._texts))]

    def _text_list(self) -> tuple[str, ...]:
        return self._in.many(self._text)

    def _type(self) -> tuple[Type, int, int]:
        source = self._in
        if (kind := source.byte()) >= len(KINDS):
            raise ValueError(f"there is no kind {kind} of types")
        name, dims = self._text(), self._text_list()
        parts = [self._types[n] for n in source.numbers(len(self._types))]
        nesting = 1 + max((nesting for _, nesting, _ in parts), default=0)
        size = 1 + sum(size for _, _, size in parts)
        if nesting > MAX_NESTING or size > MAX_PARTS:
            raise ValueError(f"a type nests {nesting} levels deep, and has {size} types inside")
        return Type(KINDS[kind], name, dims, tuple(part for part, _, _ in parts)), nesting, size

    def _type_of(self) -> Type:
        return self._types[self._in.number(len(self._types))][0]

    def _type_list(self) -> tuple[Type, ...]:
        return self._in.many(self._type_of)

    def _data(self) -> DataType:
        name, parameters, kinds = self._text(), self._text_list(), self._text_list()
        constructors = self._in.many(lambda: Constructor(self._text(), self._type_list()))
        return DataType(name, parameters, kinds, constructors)

    def _constant(self) -> Constant:
        name, source = self._text(), self._in
        if place := source.number(len(self._weights) + 1):
            return Constant(name, self._weights[place - 1])
        dtype, shape, data = dtype_from_name(self._text()), source.numbers(1 << 40), source.block()
        if dtype.hasobject or len(shape) > _MAX_RANK:
            raise ValueError(f"a constant cannot be an array of {dtype} with {len(shape)} dimensions")
        return Constant(name, np.frombuffer(data, dtype).reshape(shape))

    def _packed(self) -> Packed:
        return Packed(self._text(), bool(self._in.byte()), self._type_list(), self._type_list())

    def _body(self) -> tuple[Code, ...]:
        return self._in.many(self._instruction)

    def _instruction(self) -> Code:
        if (name := _OPCODES.get(opcode := self._in.byte())) is None:
            raise ValueError(f"there is no instruction {opcode}")
        return Code(name, tuple([self._operand(field.kind) for field in FIELDS[name]]))

    def _operand(self, kind: Kind) -> object:
        source = self._in
        match kind:
            case Kind.USES | Kind.TARGETS:
                return source.numbers()
            case Kind.OUTPUTS:
                are_given = bool(source.byte())
                return Outputs(source.numbers(), are_given)
            case Kind.CONSTRUCTOR:
                return ConstructorOf(source.number() - 1, source.number())
            case Kind.TYPE:
                return self._type_of()
            case Kind.STRING | Kind.ELEMENT:
                return self._text()
            case Kind.INTEGER:
                return source.integer()
            case _:
                return source.number()

    def _function(self, bodies: Sequence[tuple[Code, ...]]) -> _Row:
        source = self._in
        name, parameters, registers = self._text(), source.number(), source.number()
        code = bodies[source.number(len(bodies))]
        signature = self._signature() if source.byte() else None
        return _Row(Function(name, parameters, registers, code, signature), source.numbers())

    def _signature(self) -> Signature:
        inputs, outputs, names = self._type_list(), self._type_list(), self._text_list()
        return Signature(inputs, outputs, names, self._in.many(self._state))

    def _state(self) -> StateSpec:
        name, input = self._text(), self._in.number()
        output, initial, axis, adds = (self._in.option() for _ in range(4))
        new = None if adds is None else Dim.of(self._texts[adds])
        return StateSpec(name, input, output, initial, False, axis, new)

    def _place(self) -> Place:
        return Place(self._text(), self._text(), self._in.number(), self._in.number())


def _runs(row: _Row, locations: Sequence[Location]) -> tuple[tuple[int, Location], ...]:
    """The instructions from which on the location is another one. Raises: ValueError, IndexError."""
    starts, places = row.numbers[::2], row.numbers[1::2]
    if len(starts) != len(places) or list(starts) != sorted(set(starts)):
        raise ValueError("the table of locations is damaged")
    return tuple((start, locations[place]) for start, place in zip(starts, places, strict=True))
