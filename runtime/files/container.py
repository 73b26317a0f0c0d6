"""
The container of artifacts: named sections in one file, described by a table at its start.

Layout, little endian: magic, u32 length of the table, its 16-byte BLAKE2b, the table (JSON: name, offset,
bytes and digest of each section), then the sections in this order. Every claim of the table is checked
against the file before it is used. A later kind of contents is a section more, and no new format.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.files.weight_check import checksum
from stepwell.runtime.json_values import as_list, as_size, as_text

try:
    from _blake2 import blake2b  # as in hashlib, which also loads OpenSSL (3 ms)
except ImportError:
    from hashlib import blake2b

Bytes: TypeAlias = npt.NDArray[np.uint8]

MAGIC = b"STEPWELL\x02\n"
MAGIC_OF_VERSION_1 = b"STEPWELL\x01\n"
_DIGEST_BYTES = 16
_PREFIX = struct.Struct(f"<{len(MAGIC)}sI{_DIGEST_BYTES}s")
_MAX_TABLE_BYTES = 1 << 20
_ALIGNMENT = 64
_PAGE_BYTES = 4096
WEIGHTS = "weights"
"""The section with the weights: on pages of its own, so that processes share them."""
PART = "part."
"""The beginning of the names of sections with a device part, most of which are weights."""


class Section(NamedTuple):
    """A section to write: its name and its contents, in pieces."""

    name: str
    pieces: Sequence[bytes | Bytes]

    @property
    def size(self) -> int:
        """Bytes of the section."""
        return sum(len(piece) for piece in self.pieces)

    def digest(self) -> str:
        """
        The digest in the table; empty for weights, each of which has a fast checksum of its own.

        A part, in one piece, has such a checksum as its digest: BLAKE2b of 100 MB takes 110 ms.
        """
        if self.name.startswith(PART):
            (piece,) = self.pieces
            return f"{checksum(np.frombuffer(piece, np.uint8)):016x}"
        return "" if self.name == WEIGHTS else _digest(*self.pieces).hex()


def write_sections(sections: Sequence[Section], file: IO[bytes]) -> None:
    """Write a container."""
    rows: list[tuple[str, int, int, str]] = []
    end = 0
    for section in sections:
        start = _aligned(end, section.name)
        rows.append((section.name, start, section.size, section.digest()))
        end = start + section.size
    table = json.dumps(rows, separators=(",", ":")).encode()
    file.write(_PREFIX.pack(MAGIC, len(table), _digest(table)))
    file.write(table + bytes(_start_of_sections(table) - _PREFIX.size - len(table)))
    end = 0
    for section, (_, start, size, _) in zip(sections, rows, strict=True):
        file.write(bytes(start - end))
        for piece in section.pieces:
            file.write(piece if isinstance(piece, bytes) else piece.data)
        end = start + size


def read_sections(data: Bytes, known: Callable[[str], bool]) -> dict[str, Bytes]:
    """
    The sections of a container, as views.

    Args: `known` says whether a name is a section's.
    Raises: ValueError, TypeError or struct.error for a file that is no container, is cut off, or damaged.
    """
    if data.size < _PREFIX.size:
        raise ValueError(f"it has {data.size} bytes: it was cut off")
    magic, table_bytes, digest = _PREFIX.unpack(data[: _PREFIX.size].tobytes())
    if magic != MAGIC:
        raise ValueError("the file does not start with Stepwell's mark, or is of another version")
    if table_bytes > _MAX_TABLE_BYTES or _PREFIX.size + table_bytes > data.size:
        raise ValueError("the table of sections is longer than the file: it was cut off")
    table = data[_PREFIX.size : _PREFIX.size + table_bytes].tobytes()
    if _digest(table) != digest:
        raise ValueError("the checksum of the table of sections is wrong: the file is damaged")
    base, end = _start_of_sections(table), 0
    found: dict[str, Bytes] = {}
    for row in as_list(json.loads(table)):
        name, place, length, wanted = as_list(row, 4)
        name, start, size = as_text(name), as_size(place), as_size(length)
        if not known(name):
            raise ValueError(f"it has a section {name!r}, which this version does not know")
        if name in found or start != _aligned(end, name) or base + start + size > data.size:
            raise ValueError(f"section {name!r} is not within the file: it was cut off")
        found[name] = view = data[base + start : base + start + size]
        if Section(name, [view]).digest() != wanted:
            raise ValueError(f"the checksum of section {name!r} is wrong: the file is damaged")
        end = start + size
    if base + end != data.size:
        raise ValueError("the file is longer than its sections")
    return found


def _aligned(end: int, name: str) -> int:
    """The start of a section after the end of the one before it."""
    return end + -end % (_PAGE_BYTES if name == WEIGHTS else _ALIGNMENT)


def _start_of_sections(table: bytes) -> int:
    """The first page after the table; offsets count from there."""
    end = _PREFIX.size + len(table)
    return end + -end % _PAGE_BYTES


def _digest(*pieces: bytes | Bytes) -> bytes:
    total = blake2b(digest_size=_DIGEST_BYTES)
    for piece in pieces:
        total.update(piece if isinstance(piece, bytes) else piece.data)
    return total.digest()
