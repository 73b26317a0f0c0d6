"""
The kinds of relocations that LLVM writes for position-independent code, by architecture.

S is the address of the symbol, A the addend, P the place that changes.
Sources: System V ABI, AMD64 supplement, table 4.9; ELF for the Arm 64-bit architecture, section 5.7; RISC-V
ELF psABI, chapter 8; ELF for the Arm architecture, section 5.6.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from stepwell.runtime.link.thumb import THUMB, THUMB_PATCHES

Patch: TypeAlias = Callable[[bytearray, int, int, int], None]
"""`patch(memory, P, S, A)` writes a place. Raises: ValueError for a distance that does not fit."""

_PAGE_MASK = ~0xFFF  # of `adrp`, whatever the size of pages is


def _word(memory: bytearray, place: int) -> int:
    return int.from_bytes(memory[place : place + 4], "little")


def _distance(value: int, bits: int) -> int:
    """A signed distance as bits of an instruction."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"a distance of {value} bytes does not fit {bits} bits")
    return value & ((1 << bits) - 1)


def _relative32(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P as 32 bits."""
    struct.pack_into("<I", memory, place, _distance(symbol + addend - place, 32))


def _branch26(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P in words, in the low 26 bits of `bl` or `b`."""
    distance = symbol + addend - place
    if distance % 4:
        raise ValueError("a branch goes into the middle of an instruction")
    struct.pack_into("<I", memory, place, _word(memory, place) & ~0x3FFFFFF | _distance(distance >> 2, 26))


def _page21(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """The distance in pages of 4 KiB, in two fields of `adrp`."""
    pages = _distance(((symbol + addend & _PAGE_MASK) - (place & _PAGE_MASK)) >> 12, 21)
    fields = (pages & 3) << 29 | (pages >> 2) << 5
    struct.pack_into("<I", memory, place, _word(memory, place) & ~0x60FFFFE0 | fields)


def _low12(scale: int) -> Patch:
    """
    The offset in a page of 4 KiB, in units of 2**`scale` bytes, in the 12 bits of `add`, `ldr` or `str`.
    """

    def patch(memory: bytearray, place: int, symbol: int, addend: int) -> None:
        offset = symbol + addend & 0xFFF
        if offset & ((1 << scale) - 1):
            raise ValueError(f"a load of {1 << scale} bytes is not aligned")
        struct.pack_into("<I", memory, place, _word(memory, place) & ~0x3FFC00 | offset >> scale << 10)

    return patch


_X86_64: Mapping[int, Patch] = {
    2: _relative32,  # PC32
    4: _relative32,  # PLT32
}
_AARCH64: Mapping[int, Patch] = {
    261: _relative32,  # PREL32
    275: _page21,  # ADR_PREL_PG_HI21
    277: _low12(0),  # ADD_ABS_LO12_NC
    278: _low12(0),  # LDST8_ABS_LO12_NC
    282: _branch26,  # JUMP26
    283: _branch26,  # CALL26
    284: _low12(1),  # LDST16_ABS_LO12_NC
    285: _low12(2),  # LDST32_ABS_LO12_NC
    286: _low12(3),  # LDST64_ABS_LO12_NC
    299: _low12(4),  # LDST128_ABS_LO12_NC
}


def _load_to_lea(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """`mov slot(%rip), %r`, the load of an address, to `lea symbol(%rip), %r`, its computation."""
    if place < 2 or memory[place - 2] != 0x8B:
        raise ValueError("an address is not loaded by mov")
    memory[place - 2] = 0x8D
    _relative32(memory, place, symbol, addend)


def _load_to_add(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """`ldr x, [y, slot]` to `add x, y, symbol`: both the offset in a page of 4 KiB."""
    word = _word(memory, place)
    if word & 0xFFC00000 != 0xF9400000:
        raise ValueError("an address is not loaded by ldr")
    struct.pack_into("<I", memory, place, 0x91000000 | word & 0x3FF)
    _low12(0)(memory, place, symbol, addend)


def _high20(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """The upper 20 bits of a distance, in `auipc`; the lower 12 are signed."""
    distance = _distance(symbol + addend - place + 0x800, 32)
    struct.pack_into("<I", memory, place, _word(memory, place) & 0xFFF | distance & 0xFFFFF000)


def _low12_of_load(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """The lower 12 bits of a distance, in `addi` or a load."""
    low = symbol + addend - place & 0xFFF
    struct.pack_into("<I", memory, place, _word(memory, place) & 0xFFFFF | low << 20)


def _low12_of_store(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """The lower 12 bits of a distance, in the two fields of a store."""
    low = symbol + addend - place & 0xFFF
    fields = low >> 5 << 25 | (low & 31) << 7
    struct.pack_into("<I", memory, place, _word(memory, place) & 0x1FFF07F | fields)


def _low12_by_addition(load: int) -> Patch:
    """
    The load of an address, `ld x, slot(y)` or `lw` as `load` has its fields, to its computation,
    `addi x, y, low`.
    """

    def patch(memory: bytearray, place: int, symbol: int, addend: int) -> None:
        word = _word(memory, place)
        if word & 0x707F != load:
            raise ValueError("an address is not loaded by ld or lw")
        struct.pack_into("<I", memory, place, word & ~0x707F | 0x13)
        _low12_of_load(memory, place, symbol, addend)

    return patch


def _call_pair(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """The distance of a call, in `auipc` and `jalr`."""
    _high20(memory, place, symbol, addend)
    _low12_of_load(memory, place + 4, symbol, addend + 4)


def _branch24(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P in 4-byte units, in the low 24 bits of `bl` or `b`, whose addend is there."""
    word = _word(memory, place)
    addend += ((word & 0xFFFFFF) ^ 0x800000) - 0x800000 << 2
    distance = symbol + addend - place
    if distance % 4:
        raise ValueError("a branch goes into the middle of an instruction")
    struct.pack_into("<I", memory, place, word & ~0xFFFFFF | _distance(distance >> 2, 24))


def _relative32_in_place(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P as 32 bits, whose addend is there."""
    _relative32(memory, place, symbol, addend + _word(memory, place))


LOW12_OF_LOAD, LOW12_OF_STORE, LOW12_BY_ADDITION = 1 << 8, 1 << 9, 1 << 10
"""Kinds of our own: the second instruction of a pair of RISC-V's, with the symbol of the first one."""
_RISCV64: Mapping[int, Patch] = {
    18: _call_pair,  # CALL
    19: _call_pair,  # CALL_PLT
    20: _high20,  # GOT_HI20
    23: _high20,  # PCREL_HI20
    57: _relative32,  # 32_PCREL
    LOW12_OF_LOAD: _low12_of_load,
    LOW12_OF_STORE: _low12_of_store,
    LOW12_BY_ADDITION: _low12_by_addition(0x3003),
}
_RISCV32: Mapping[int, Patch] = {**_RISCV64, LOW12_BY_ADDITION: _low12_by_addition(0x2003)}
_ARMV7: Mapping[int, Patch] = {
    3: _relative32_in_place,  # REL32
    28: _branch24,  # CALL
    29: _branch24,  # JUMP24
}

PATCHES: Mapping[str, Mapping[int, Patch]] = {
    "x86_64": _X86_64,
    "aarch64": _AARCH64,
    "riscv64": _RISCV64,
    "riscv32": _RISCV32,
    "armv7": _ARMV7,
    THUMB: THUMB_PATCHES,
}
"""The functions that carry out relocations, by architecture and kind."""
PATCHED_BYTES = 4
"""The bytes that a relocation of any of these kinds changes."""

LOADS: Mapping[str, Mapping[int, tuple[Patch, Patch]]] = {
    "x86_64": {
        9: (_load_to_lea, _relative32),  # GOTPCREL
        42: (_load_to_lea, _relative32),  # REX_GOTPCRELX
    },
    "aarch64": {
        311: (_page21, _page21),  # ADR_GOT_PAGE
        312: (_load_to_add, _low12(3)),  # LD64_GOT_LO12_NC
    },
}
"""
Kinds of instructions that load the address of a symbol from a table: patches for a symbol in the image, whose
address they then compute, and for the slot of one outside.
"""

CALLS: Mapping[str, frozenset[int]] = {"x86_64": frozenset({2, 4}), "aarch64": frozenset({282, 283})}
"""The kinds by which code may refer to the jump to a function outside."""


STUB_BYTES: Mapping[str, int] = {"x86_64": 8, "aarch64": 16}


def write_stub(memory: bytearray, arch: str, place: int, slot: int) -> None:
    """Write code at `place` that jumps to the address that the slot at `slot` contains."""
    if arch == "x86_64":
        struct.pack_into("<2sI2s", memory, place, b"\xff\x25", _distance(slot - place - 6, 32), b"\xcc\xcc")
    else:  # adrp x16, slot; ldr x17, [x16, slot]; br x17; brk
        struct.pack_into("<4I", memory, place, 0x90000010, 0xF9400211, 0xD61F0220, 0xD4200000)
        _page21(memory, place, slot, 0)
        _low12(3)(memory, place + 4, slot, 0)


CODE_ALIGNMENT: Mapping[str, int] = {
    "x86_64": 64, "aarch64": 1 << 12, "riscv64": 64, "riscv32": 4, "armv7": 64, THUMB: 4,
}  # fmt: skip
"""The alignment of linked code: on aarch64, instructions contain the offset in a page of 4 KiB."""


def write_jump(memory: bytearray, arch: str, place: int) -> tuple[int, int, int]:
    """Write a jump to a symbol in place of a stub; returns the offset, kind and addend of its relocation."""
    if arch == "x86_64":
        struct.pack_into("<BI3s", memory, place, 0xE9, 0, b"\xcc\xcc\xcc")
        return place + 1, 4, -4
    struct.pack_into("<4I", memory, place, 0x14000000, *[0xD4200000] * 3)
    return place, 282, 0


def without_gap(memory: bytearray, arch: str, text_bytes: int, data_offset: int) -> int:
    """
    Move the constants of linked code towards its functions, as far as their distance can change; returns it.

    On aarch64 functions reach constants by `adrp`, which has a distance in pages of 4 KiB, and the gap has up
    to 64 KiB; on other architectures distances are in bytes, and gaps are small.
    """
    page = CODE_ALIGNMENT[arch]
    moved = (data_offset - (text_bytes + -text_bytes % page)) // page * page if arch == "aarch64" else 0
    if not moved:
        return 0
    for place in range(0, text_bytes - 3, 4):
        word = _word(memory, place)
        if word & 0x9F000000 != 0x90000000:
            continue
        pages = (word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2
        pages = (pages ^ 1 << 20) - (1 << 20)
        target = (place & _PAGE_MASK) + pages * page
        if target >= data_offset:
            _page21(memory, place, target - moved, 0)
    del memory[data_offset - moved : data_offset]
    return moved
