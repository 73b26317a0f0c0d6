"""
Writer of files for macOS and iOS: objects, and libraries (`.dylib`), signed ad hoc as Apple's CPUs demand.

Code needs no relocation. In an object, weights follow the code in its section; a library has them in one of
their own.
Source: Apple's headers mach-o/loader.h, mach-o/nlist.h and kern/cs_blobs.h.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from hashlib import sha256

from stepwell.lowering.export.elf_shared import patched
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.lowering.export.systems.exports_trie import exports_trie
from stepwell.lowering.export.systems.one_section import one_section
from stepwell.runtime.abi import ARENA_ALIGNMENT

CPUS: Mapping[str, tuple[int, int]] = {"x86_64": (0x1000007, 3), "aarch64": (0x100000C, 0)}
_OBJECT, _LIBRARY = 1, 6
_NO_UNDEFINED, _FOR_LOADER, _TWO_LEVELS, _NO_REEXPORTS = 1, 4, 0x80, 0x100000
_SEGMENT, _SYMBOLS, _SYMBOL_COUNTS, _LOAD, _NAME, _UUID = 0x19, 2, 0xB, 0xC, 0xD, 0x1B
_SIGNATURE, _TABLES, _SYSTEM = 0x1D, 0x80000022, 0x32
_MACOS, _LOWEST_VERSION = 1, 11 << 16
_READ, _RUN = 1, 4
_PURE_CODE = 0x80000400
_PAGE = 1 << 14
_SIGNED_PAGE = 1 << 12
_LIBSYSTEM = "/usr/lib/libSystem.B.dylib"


def macho_object(parts: Parts) -> list[Chunk]:
    """The object file of an export, with weights after the code in its one section."""
    chunks, size, alignment = one_section(parts)
    sizes = [72 + 80, 24, 24, 80]
    start = 32 + sum(sizes)
    start += -start % alignment
    names, rows = _symbols(parts, 0)
    table = start + size + -size % 8
    commands = [
        struct.pack("<II16sQQQQiiII", _SEGMENT, sizes[0], b"", 0, size, start, size, 7, 7, 1, 0)
        + _section("__text", 0, size, start, alignment, _PURE_CODE),
        _system(),
        struct.pack("<6I", _SYMBOLS, 24, table, len(rows), table + 16 * len(rows), len(names)),
        _symbol_counts(len(rows)),
    ]
    first = _header(parts.code.arch, _OBJECT, commands, 0)
    gap = bytes(start - len(first))
    return [first, gap, *chunks, bytes(-size % 8), *rows, names]


def macho_library(parts: Parts, name: str) -> list[Chunk]:
    """The library of an export. Args: `name` is the file's, by which programs find it (`@rpath/NAME`)."""
    code = parts.code
    names = [_name(_NAME, f"@rpath/{name}"), _name(_LOAD, _LIBSYSTEM)]
    count = 1 + bool(parts.weights)
    start = 32 + 72 + 80 * count + 72 + sum(map(len, names)) + 48 + 24 + 80 + 24 + 24 + 16
    start += -start % code.alignment
    text_end = start + len(code.contents)
    weights = text_end + -text_end % ARENA_ALIGNMENT
    contents: list[Chunk] = [code.contents]
    if parts.weights:
        contents = [patched(parts, start, weights), bytes(weights - text_end), *weight_chunks(parts.weights)]
    end = start + sum(map(len, contents))
    contents.append(bytes(-end % _PAGE))
    linkedit = end + -end % _PAGE
    texts, rows = _symbols(parts, start)
    trie = exports_trie({f"_{each.name}": start + code.symbols[each.name][0] for each in parts.symbols})
    tail = trie + b"".join(rows) + texts
    tail += bytes(-(linkedit + len(tail)) % 16)
    signed = linkedit + len(tail)
    signature_bytes = _signature_bytes(name, signed)
    table = linkedit + len(trie)
    sections = [_section("__text", start, len(code.contents), start, code.alignment, _PURE_CODE)]
    if parts.weights:
        sections.append(_section("__const", weights, parts.weight_bytes, weights, ARENA_ALIGNMENT, 0))
    last = len(tail) + signature_bytes
    commands = [
        _segment("__TEXT", 0, linkedit, 0, linkedit, _READ | _RUN, sections),
        _segment("__LINKEDIT", linkedit, last + -last % _PAGE, linkedit, last, _READ, []),
        names[0],
        struct.pack("<12I", _TABLES, 48, *[0] * 8, linkedit, len(trie)),
        struct.pack("<6I", _SYMBOLS, 24, table, len(rows), table + 16 * len(rows), len(texts)),
        _symbol_counts(len(rows)),
        struct.pack("<II16s", _UUID, 24, sha256(b"".join(map(bytes, contents))).digest()[:16]),
        _system(),
        names[1],
        struct.pack("<4I", _SIGNATURE, 16, signed, signature_bytes),
    ]
    flags = _NO_UNDEFINED | _FOR_LOADER | _TWO_LEVELS | _NO_REEXPORTS
    first = _header(code.arch, _LIBRARY, commands, flags)
    chunks: list[Chunk] = [first, bytes(start - len(first)), *contents, tail]
    return [*chunks, _signature(name, chunks, signed, linkedit)]


def _header(arch: str, type: int, commands: Sequence[bytes], flags: int) -> bytes:
    cpu, sub = CPUS[arch]
    size = sum(map(len, commands))
    return struct.pack("<8I", 0xFEEDFACF, cpu, sub, type, len(commands), size, flags, 0) + b"".join(commands)


def _segment(
    name: str, address: int, size: int, offset: int, file_bytes: int, rights: int, sections: Sequence[bytes]
) -> bytes:
    places = address, size, offset, file_bytes, rights, rights, len(sections), 0
    first = struct.pack("<II16sQQQQiiII", _SEGMENT, 72 + 80 * len(sections), name.encode(), *places)
    return first + b"".join(sections)


def _section(name: str, address: int, size: int, offset: int, alignment: int, flags: int) -> bytes:
    numbers = address, size, offset, alignment.bit_length() - 1, 0, 0, flags, 0, 0, 0
    return struct.pack("<16s16sQQ8I", name.encode(), b"__TEXT", *numbers)


def _symbols(parts: Parts, start: int) -> tuple[bytes, list[bytes]]:
    """The table of strings, and the rows of functions sorted by name, which C begins with `_`."""
    texts, rows = bytearray(b"\0"), list[bytes]()
    for name in sorted(each.name for each in parts.symbols):
        offset, _ = parts.code.symbols[name]
        rows.append(struct.pack("<IBBHQ", len(texts), 0xF, 1, 0, start + offset))
        texts += b"_" + name.encode() + b"\0"
    return bytes(texts), rows


def _symbol_counts(count: int) -> bytes:
    """The command that says which symbols are local, defined and undefined: all are defined."""
    return struct.pack("<20I", _SYMBOL_COUNTS, 80, 0, 0, 0, count, count, 0, *[0] * 12)


def _system() -> bytes:
    return struct.pack("<6I", _SYSTEM, 24, _MACOS, _LOWEST_VERSION, _LOWEST_VERSION, 0)


def _name(command: int, name: str) -> bytes:
    """A command with the name of a library."""
    text = name.encode() + b"\0"
    text += bytes(-len(text) % 8)
    return struct.pack("<6I", command, 24 + len(text), 24, 1, 1 << 16, 1 << 16) + text


def _signature_bytes(name: str, signed: int) -> int:
    """The size of the signature of so many bytes."""
    pages = -(-signed // _SIGNED_PAGE)
    size = 20 + 88 + len(name.encode()) + 1 + 32 * pages
    return size + -size % 16


def _signature(name: str, chunks: Sequence[Chunk], signed: int, text_bytes: int) -> bytes:
    """The hashes of all pages, without a signer: what Apple's linker writes."""
    data = b"".join(map(bytes, chunks))
    pages = [sha256(data[i : i + _SIGNED_PAGE]).digest() for i in range(0, signed, _SIGNED_PAGE)]
    text = name.encode() + b"\0"
    first = 88 + len(text)
    length = first + 32 * len(pages)
    adhoc = 0x20002
    fields = 0xFADE0C02, length, 0x20400, adhoc, first, 88, 0, len(pages), signed
    directory = struct.pack(">9I4BI", *fields, 32, 2, 0, 12, 0)
    directory += struct.pack(">IIIQQQQ", 0, 0, 0, 0, 0, text_bytes, 0) + text + b"".join(pages)
    whole = struct.pack(">5I", 0xFADE0CC0, 20 + length, 1, 0, 20) + directory
    return whole.ljust(_signature_bytes(name, signed), b"\0")
