"""Object files that say what no compiler says: refused before they cost memory or time."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Sequence

import pytest

from stepwell.runtime.link.elf import read_object
from stepwell.runtime.link.linker import link

PROGRAM, SYMBOLS, STRINGS, NO_BITS = 1, 2, 3, 8
ALLOCATE, EXECUTE = 2, 4
GLOBAL_FUNCTION = 0x12
HEADER_BYTES = 64
RETURN = b"\xc3"


def section(
    type: int, flags: int = 0, offset: int = 0, size: int = 0, link: int = 0, alignment: int = 1
) -> bytes:
    """A row of the section table."""
    return struct.pack("<IIQQQQIIQQ", 0, type, flags, 0, offset, size, link, 0, alignment, 0)


def symbol(section: int, name: int = 1, size: int = 1) -> bytes:
    """A global function at the start of a section."""
    return struct.pack("<IBBHQQ", name, GLOBAL_FUNCTION, 0, section, 0, size)


def object_file(names: bytes, symbols: bytes, others: Sequence[bytes] = ()) -> bytes:
    """
    An object of x86-64 with sections for names (1), symbols (2) and one instruction (3), then `others`.
    """
    parts = [names, symbols, RETURN]
    at = [HEADER_BYTES + sum(map(len, parts[:i])) for i in range(4)]
    rows = [
        section(0),
        section(STRINGS, 0, at[0], len(names)),
        section(SYMBOLS, 0, at[1], len(symbols), 1),
        section(PROGRAM, ALLOCATE | EXECUTE, at[2], 1),
        *others,
    ]
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    sizes = (HEADER_BYTES, 0, 0, len(rows[0]), len(rows), 1)
    header = struct.pack("<16sHHIQQQIHHHHHH", ident, 1, 62, 1, 0, 0, at[3], 0, *sizes)
    return b"".join([header, *parts, *rows])


NAMES = b"\0f\0"


def test_an_object_of_these_parts_is_linked() -> None:
    assert link([object_file(NAMES, symbol(3))]).functions == {"f": (0, 1)}


def test_a_function_in_a_section_without_memory() -> None:
    with pytest.raises(ValueError, match="'f' is in a section without memory"):
        link([object_file(NAMES, symbol(1))])


def test_sections_without_bytes_are_not_read() -> None:
    """Each of them claims the whole file."""
    names = b"\0f".ljust(1 << 17, b"x") + b"\0"
    claims = [section(NO_BITS, ALLOCATE, 0, len(names))] * 2000
    data = object_file(names, symbol(3), claims)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="is not code and no constants"):
            read_object(data)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_names_are_bounded() -> None:
    """Each symbol has the same name, which is as long as the rest of the file."""
    names = b"\0f".ljust(1 << 16, b"x") + b"\0"
    data = object_file(names, symbol(3, 1) * 2000)
    with pytest.raises(ValueError, match="a name has more than 1024 bytes"):
        read_object(data)
