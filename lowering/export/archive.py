"""
Writer of static libraries: the archive format of `ar`, with an index of symbols; dates and owners are 0.

Source: System V ABI, chapter 7; BSD's names for Mach-O.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from stepwell.lowering.export.parts import Chunk

_MAGIC = b"!<arch>\n"
_MAX_NAME = 15


class Member(NamedTuple):
    """A file of an archive, and the global symbols that it defines."""

    name: str
    chunks: Sequence[Chunk]
    symbols: Sequence[str]

    @property
    def size(self) -> int:
        """The size of the file."""
        return sum(map(len, self.chunks))


def archive(members: Sequence[Member]) -> list[Chunk]:
    """An archive as GNU's `ar`, LLVM's and Microsoft's read it: the index in the member `/`."""
    names = b"".join(member.name.encode() + b"/\n" for member in members if len(member.name) > _MAX_NAME)
    names += b"\n" * (len(names) % 2)
    symbols = [(name, number) for number, member in enumerate(members) for name in member.symbols]
    text = b"".join(name.encode() + b"\0" for name, _ in symbols)
    index_bytes = 4 + 4 * len(symbols) + len(text)
    index_bytes += index_bytes % 2
    start = len(_MAGIC) + 60 + index_bytes + (60 + len(names) if names else 0)
    offsets: list[int] = []
    for member in members:
        offsets.append(start)
        start += 60 + member.size + member.size % 2
    index = struct.pack(f">{1 + len(symbols)}I", len(symbols), *(offsets[n] for _, n in symbols)) + text
    chunks: list[Chunk] = [_MAGIC, _header("/", index_bytes), index.ljust(index_bytes, b"\0")]
    if names:
        chunks += [_header("//", len(names)), names]
    long_names = 0
    for member in members:
        if len(member.name) > _MAX_NAME:
            shown, long_names = f"/{long_names}", long_names + len(member.name) + 2
        else:
            shown = f"{member.name}/"
        chunks += [_header(shown, member.size), *member.chunks, b"\n" * (member.size % 2)]
    return chunks


def bsd_archive(members: Sequence[Member]) -> list[Chunk]:
    """An archive as Apple's tools read it: names before the contents, the index in the member `__.SYMDEF`."""
    symbols = [(name, number) for number, member in enumerate(members) for name in member.symbols]
    texts, places = bytearray(), list[int]()
    for name, _ in symbols:
        places.append(len(texts))
        texts += name.encode() + b"\0"
    texts += bytes(-len(texts) % 8)
    index_bytes = 8 + 8 * len(symbols) + len(texts)
    start, offsets, parts = len(_MAGIC) + 60 + 20 + index_bytes, list[int](), list[Chunk]()
    for member in members:
        offsets.append(start)
        # Contents begin and end at multiples of 8.
        name = member.name.encode()
        name += bytes(-(start + 60 + len(name)) % 8)
        gap = -member.size % 8
        size = len(name) + member.size + gap
        parts += [_header(f"#1/{len(name)}", size), name, *member.chunks, bytes(gap)]
        start += 60 + size
    rows = [n for place, (_, number) in zip(places, symbols, strict=True) for n in (place, offsets[number])]
    index = struct.pack(f"<{2 + len(rows)}I", 8 * len(symbols), *rows, len(texts)) + texts
    return [_MAGIC, _header("#1/20", 20 + index_bytes), b"__.SYMDEF".ljust(20, b"\0"), index, *parts]


def _header(name: str, size: int) -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{size:<10}`\n".encode()
