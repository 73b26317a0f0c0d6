"""Bytecode: decode after encode is the identity, equal bodies are stored once, damage is an error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, StateSpec
from stepwell.runtime.vm.bytecode import VERSION, decode, encode
from stepwell.runtime.vm.instructions import INSTRUCTIONS, ConstructorOf, Kind, Outputs
from stepwell.runtime.vm.program import (
    Code,
    Constructor,
    DataType,
    Function,
    Packed,
    Place,
    Program,
    Signature,
    Type,
    data_of,
    function_of,
    tensor,
    tuple_of,
)
from stepwell.runtime.vm.wire import Reader, Writer
from tests.support.samples import examples
from tests.support.vm import LENGTH, parsed

NUMBERS = st.integers(0, 1 << 40)
SMALL = st.integers(0, 9)
NAMES = st.text(max_size=6)
TYPES: st.SearchStrategy[Type] = st.recursive(
    st.sampled_from([tensor("float32", 4, "N", "?"), tensor("int64"), Type("variable", "A")]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: tuple_of(*parts)),
        st.tuples(NAMES, st.lists(inner, max_size=2)).map(lambda pair: data_of(pair[0], *pair[1])),
        st.lists(inner, max_size=2).map(lambda parts: function_of(tuple(parts), tuple(parts))),
    ),
    max_leaves=6,
)
OPERANDS: dict[Kind, st.SearchStrategy[object]] = {
    Kind.USES: st.lists(NUMBERS, max_size=3).map(tuple),
    Kind.TARGETS: st.lists(NUMBERS, max_size=3).map(tuple),
    Kind.OUTPUTS: st.builds(Outputs, st.lists(NUMBERS, max_size=3).map(tuple), st.booleans()),
    Kind.CONSTRUCTOR: st.builds(ConstructorOf, st.integers(-1, 9), NUMBERS),
    Kind.TYPE: TYPES,
    Kind.STRING: NAMES,
    Kind.ELEMENT: NAMES,
    Kind.INTEGER: st.integers(-(1 << 63), (1 << 63) - 1),
}


def of_instruction(name: str) -> st.SearchStrategy[Code]:
    fields = INSTRUCTIONS[name].fields
    operands = st.tuples(*(OPERANDS.get(field.kind, NUMBERS) for field in fields))
    return operands.map(lambda values: Code(name, values))


CODES = st.sampled_from(sorted(INSTRUCTIONS)).flatmap(of_instruction)
PLACES = st.lists(st.builds(Place, NAMES, NAMES, NUMBERS, NUMBERS), min_size=1, max_size=2).map(tuple)
TYPE_LISTS = st.lists(TYPES, max_size=3).map(tuple)
STATES = st.lists(
    st.builds(
        StateSpec,
        NAMES,
        SMALL,
        st.none() | SMALL,
        st.none() | SMALL,
        st.just(False),
        axis=st.none() | SMALL,
        adds=st.sampled_from([None, Dim.of(1), Dim.of("2 * N + 1")]),
    ),
    max_size=2,
).map(tuple)
FUNCTIONS = st.builds(
    Function,
    NAMES,
    NUMBERS,
    NUMBERS,
    st.lists(CODES, min_size=1, max_size=5).map(tuple),
    st.none() | st.builds(Signature, TYPE_LISTS, TYPE_LISTS, st.lists(NAMES, max_size=2).map(tuple), STATES),
    PLACES.map(lambda place: ((0, place),)) | st.just(()),
)

PROGRAMS = st.builds(
    Program,
    st.lists(
        st.builds(
            DataType,
            NAMES,
            st.lists(NAMES, max_size=2).map(tuple),
            st.lists(NAMES, max_size=2).map(tuple),
            st.lists(st.builds(Constructor, NAMES, TYPE_LISTS), max_size=3).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    st.just(()),
    st.lists(st.builds(Packed, NAMES, st.booleans(), TYPE_LISTS, TYPE_LISTS), max_size=2).map(tuple),
    st.lists(FUNCTIONS, max_size=3).map(tuple),
)


@examples(60)
@given(PROGRAMS)
def test_programs_survive(program: Program) -> None:
    data = encode(program, [])
    assert decode(data) == program
    assert encode(decode(data), []) == data


@examples(60)
@given(st.lists(st.integers(0, (1 << 63) - 1)), st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_numbers_survive(unsigned: Sequence[int], signed: Sequence[int]) -> None:
    out = Writer()
    out.numbers(unsigned)
    for value in signed:
        out.integer(value)
    source = Reader(bytes(out.data))
    assert source.numbers() == tuple(unsigned)
    assert [source.integer() for _ in signed] == signed and source.left == 0


@pytest.mark.parametrize(
    ("value", "expected"), [(-64, b"\x40"), (63, b"\x3f"), (64, b"\xc0\x00"), (-65, b"\xbf\x7f")]
)
def test_signed_numbers_are_leb128(value: int, expected: bytes) -> None:
    out = Writer()
    out.integer(value)
    assert bytes(out.data) == expected


@pytest.mark.parametrize("data", [b"\x03", b"", b"\xff" * 11, b"\x80"])
def test_numbers_that_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="less than 3|too early|64 bits"):
        Reader(data).number(3)


def test_equal_bodies_are_stored_once() -> None:
    one, *copies = (
        f'vm.func private @nothing_{n} (1) registers 1 {{\nvm.kill r0\nvm.fatal "no-case", "nothing"\n}}\n'
        for n in range(21)
    )
    once, often = (encode(_without_locations(parsed(text)), []) for text in (one, one + "".join(copies)))
    assert len(often) < len(once) + 20 * 18
    functions = decode(often).functions
    assert all(function.code is functions[0].code for function in functions)


def _without_locations(program: Program) -> Program:
    return program._replace(functions=tuple(f._replace(locations=()) for f in program.functions))


def test_large_constants_are_weights_once() -> None:
    large = np.arange(1000, dtype=np.float32)
    text = "".join(f"vm.constant #{n} = dense<{n}> : tensor<i64>\n" for n in range(3))
    program = parsed(text)
    constants = (*program.constants, program.constants[0]._replace(name="w", array=large))
    program = program._replace(constants=(*constants, constants[-1]._replace(array=large.copy())))
    weights: list[Array] = [np.zeros(3)]
    data = encode(program, weights)
    assert len(weights) == 2 and weights[1] is large and len(data) < 150
    found = decode(data, weights).constants
    assert found[3].array is large and found[3].name == "w" and found[2].array == 2
    with pytest.raises(StepwellError, match="bad-bytecode"):
        decode(data, weights[:1])


def test_another_version_is_named() -> None:
    data = bytearray(encode(parsed(LENGTH), []))
    data[0] = VERSION + 1
    with pytest.raises(
        StepwellError, match=f"{VERSION + 1}, this Stepwell reads version {VERSION}"
    ) as caught:
        decode(bytes(data))
    assert caught.value.code == "bad-artifact"


def test_every_cut_is_an_error() -> None:
    data = encode(parsed(LENGTH), [])
    for length in range(len(data)):
        with pytest.raises(StepwellError, match="error\\[bad-"):
            decode(data[:length])
    with pytest.raises(StepwellError, match="1 bytes are left"):
        decode(data + b"\0")


def test_types_that_double_are_refused() -> None:
    """Thirty rows in the table, which would have a billion types inside."""
    head = Writer()
    head.data += VERSION.to_bytes(2, "little")
    head.number(1)
    head.block(b"")
    with pytest.raises(StepwellError, match="types inside"):
        decode(bytes(head.data) + _doubling(30))


def _doubling(levels: int) -> bytes:
    out = Writer()
    out.number(levels + 1)
    out.data += bytes([1, 0, 0, 0])
    for level in range(levels):
        out.data += bytes([1, 0, 0])
        out.numbers([level, level])
    return bytes(out.data)
