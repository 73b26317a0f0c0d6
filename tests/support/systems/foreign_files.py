"""Readers of libraries of Windows and macOS, written from their specifications."""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import NamedTuple


class Loaded(NamedTuple):
    """A library as a loader has it in memory, before it moves it."""

    machine: int
    memory: bytes
    functions: dict[str, int]
    """The offset of each function in memory."""
    rights: dict[str, int]
    """The rights of each section or segment, as the file has them."""


def text_at(data: bytes | bytearray, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def read_pe(data: bytes) -> Loaded:
    """A `.dll`: headers, sections, the table of functions."""
    assert data[:2] == b"MZ"
    start = struct.unpack_from("<I", data, 60)[0]
    assert data[start : start + 4] == b"PE\0\0"
    machine, count, time, _, _, optional_bytes, flags = struct.unpack_from("<HHIIIHH", data, start + 4)
    assert time == 0 and flags & 0x2002 == 0x2002
    optional = start + 24
    assert struct.unpack_from("<H", data, optional)[0] == 0x20B
    alignment, file_alignment = struct.unpack_from("<II", data, optional + 32)
    image_bytes, header_bytes = struct.unpack_from("<II", data, optional + 56)
    directories = struct.unpack_from("<32I", data, optional + 112)
    memory, rights = bytearray(image_bytes), {}
    memory[:header_bytes] = data[:header_bytes]
    end = header_bytes
    for number in range(count):
        row = struct.unpack_from("<8sIIIIIIHHI", data, optional + optional_bytes + 40 * number)
        size, address, raw, place = row[1:5]
        assert address % alignment == 0 and place % file_alignment == 0 and address >= end
        assert place + raw <= len(data) and size <= raw
        memory[address : address + size] = data[place : place + size]
        rights[row[0].rstrip(b"\0").decode()] = row[9]
        end = address + size
    assert end <= image_bytes and image_bytes % alignment == 0
    # No imports, and one block of relocations that has none.
    assert directories[2:4] == (0, 0) and bytes(memory[directories[10] : directories[10] + 12])[8:] == bytes(
        4
    )
    exports = struct.unpack_from("<IIHHIIIIIII", memory, directories[0])
    _, _, _, _, _, base, functions, names, addresses, texts, ordinals = exports
    assert base == 1 and functions == names
    found: dict[str, int] = {}
    for number in range(names):
        name = text_at(memory, struct.unpack_from("<I", memory, texts + 4 * number)[0])
        index = struct.unpack_from("<H", memory, ordinals + 2 * number)[0]
        found[name] = struct.unpack_from("<I", memory, addresses + 4 * index)[0]
    assert list(found) == sorted(found)
    return Loaded(machine, bytes(memory), found, rights)


def read_macho(data: bytes) -> Loaded:
    """A `.dylib`: load commands, segments, the trie of exports, and the hashes of its signature."""
    magic, cpu, _, type, count, size, _, _ = struct.unpack_from("<8I", data)
    assert magic == 0xFEEDFACF and type == 6
    commands: dict[int, bytes] = {}
    memory, rights, place = bytearray(), dict[str, int](), 32
    for _ in range(count):
        command, length = struct.unpack_from("<II", data, place)
        body = data[place : place + length]
        commands[command] = body
        if command == 0x19:
            name, address, memory_bytes, offset, file_bytes, _, right = struct.unpack_from(
                "<16sQQQQii", body, 8
            )
            assert file_bytes <= memory_bytes and offset + file_bytes <= len(data) and address == len(memory)
            assert address % (1 << 14) == 0
            memory += data[offset : offset + file_bytes] + bytes(memory_bytes - file_bytes)
            rights[name.rstrip(b"\0").decode()] = right
        place += length
    assert place == 32 + size
    trie_offset, trie_bytes = struct.unpack_from("<II", commands[0x80000022], 40)
    functions = trie_names(data[trie_offset : trie_offset + trie_bytes])
    check_signature(data, *struct.unpack_from("<II", commands[0x1D], 8))
    return Loaded(cpu, bytes(memory), {name[1:]: at for name, at in functions.items()}, rights)


def trie_names(data: bytes, place: int = 0, prefix: str = "") -> dict[str, int]:
    """The names below a node of a trie, with their addresses."""

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    found: dict[str, int] = {}
    if number():
        assert number() == 0
        found[prefix] = number()
    edges, place = data[place], place + 1
    beginnings: set[str] = set()
    for _ in range(edges):
        text = text_at(data, place)
        place += len(text) + 1
        beginnings.add(text[0])
        found |= trie_names(data, number(), prefix + text)
    assert len(beginnings) == edges  # or a loader would not know which one to follow
    return found


def check_signature(data: bytes, start: int, size: int) -> None:
    """Compare the hash of each page with that of the signature, which ends the file."""
    assert start + size == len(data) and start % 16 == 0
    magic, _, count, slot, offset = struct.unpack_from(">5I", data, start)
    assert (magic, count, slot) == (0xFADE0CC0, 1, 0)
    base = start + offset
    fields = struct.unpack_from(">9I4B", data, base)
    assert fields[0] == 0xFADE0C02 and fields[3] & 2 and fields[8] == start and fields[9:11] == (32, 2)
    for number in range(fields[7]):
        page = data[number << 12 : min(start, number + 1 << 12)]
        place = base + fields[4] + 32 * number
        assert data[place : place + 32] == sha256(page).digest()
