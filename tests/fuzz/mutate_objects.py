"""Changes of ELF object files: of bytes, and of fields that the reader relies on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tests.fuzz.mutate import change_bytes

# Offset and size of each field: of the file's header, and of rows of its tables.
_Fields = Sequence[tuple[int, int]]
_FILE: _Fields = [(16, 2), (18, 2), (40, 8), (58, 2), (60, 2), (62, 2)]
_SECTION: _Fields = [(0, 4), (4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8)]
_SYMBOL: _Fields = [(0, 4), (4, 1), (6, 2), (8, 8), (16, 8)]
_RELOCATION: _Fields = [(0, 8), (8, 4), (12, 4), (16, 8)]
_ROWS: Mapping[int, _Fields] = {2: _SYMBOL, 4: _RELOCATION}
"""The fields of rows by the type of a section."""
_SECTION_BYTES, _ROW_BYTES = 64, 24
_BORDERS = (0, 1, 2, 3, 4, 7, 8, 9, 16, 24, 64, 4096, 0x7FFF, 0xFF00, 0xFFF1, 0xFFFF, (1 << 31) - 1, 1 << 31)


def change_object(data: bytes, rng: np.random.Generator) -> bytes:
    """One change of an ELF file."""
    if rng.random() < 0.2:
        return change_bytes(data, rng)
    changed = bytearray(data)
    tables = _tables(data)
    start, rows, size, fields = tables[int(rng.integers(len(tables)))]
    at, width = fields[int(rng.integers(len(fields)))]
    at += start + size * int(rng.integers(max(1, rows)))
    if at + width > len(data):
        return change_bytes(data, rng)
    value = int.from_bytes(data[at : at + width], "little")
    match int(rng.integers(4)):
        case 0:
            value = int(rng.choice(_BORDERS))
        case 1:
            value ^= 1 << int(rng.integers(8 * width))
        case 2:
            value += int(rng.choice([-4, -1, 1, 4, 256]))
        case _:
            value = int.from_bytes(rng.bytes(width), "little")
    changed[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(changed)


def _tables(data: bytes) -> list[tuple[int, int, int, _Fields]]:
    """Start, rows, size of a row, and fields of the header, and of sections, symbols and relocations."""
    start, count = _number(data, 40, 8), _number(data, 60, 2)
    tables = [(0, 1, 64, _FILE), (start, count, _SECTION_BYTES, _SECTION)]
    for row in range(start, min(len(data), start + count * _SECTION_BYTES), _SECTION_BYTES):
        if fields := _ROWS.get(_number(data, row + 4, 4), ()):
            rows = min(_number(data, row + 32, 8), len(data)) // _ROW_BYTES
            tables.append((_number(data, row + 24, 8), rows, _ROW_BYTES, fields))
    return tables


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")
