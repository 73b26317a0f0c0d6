"""
Relocations of Thumb code: branches in two halves of 16 bits, and addresses whose lowest bit says Thumb.

Source: ELF for the Arm architecture, section 5.6; Armv7-M Architecture Reference Manual, A6.7.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

THUMB = "thumb"
"""The architecture: the machine of armv7 in ELF files, whose functions have odd addresses."""
_BRANCH_BITS = 25


def _branch(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P in units of 2 bytes, in the fields of `bl` or `b.w`, whose addend is there."""
    first, second = struct.unpack_from("<2H", memory, place)
    distance = (symbol & ~1) + addend + branch_distance(first, second) - place
    if distance % 2 or not -(1 << (_BRANCH_BITS - 1)) <= distance < 1 << (_BRANCH_BITS - 1):
        raise ValueError(f"a distance of {distance} bytes does not fit {_BRANCH_BITS} bits")
    sign, upper = distance >> 24 & 1, distance >> 22
    # Two bits of the distance are stored as equal to the sign, or not.
    j1, j2 = (~upper >> 1 ^ sign) & 1, (~upper ^ sign) & 1
    first = first & 0xF800 | sign << 10 | distance >> 12 & 0x3FF
    second = second & 0xD000 | j1 << 13 | j2 << 11 | distance >> 1 & 0x7FF
    struct.pack_into("<2H", memory, place, first, second)


def branch_distance(first: int, second: int) -> int:
    """The distance in bytes of `bl` or `b.w`."""
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    upper = (~(j1 ^ sign) & 1) << 23 | (~(j2 ^ sign) & 1) << 22
    distance = sign << 24 | upper | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    return distance - (sign << _BRANCH_BITS)


def _relative32(memory: bytearray, place: int, symbol: int, addend: int) -> None:
    """S + A - P as 32 bits, whose addend is there; S is odd for a function."""
    (there,) = struct.unpack_from("<I", memory, place)
    struct.pack_into("<I", memory, place, symbol + addend + there - place & 0xFFFFFFFF)


THUMB_PATCHES: Mapping[int, Callable[[bytearray, int, int, int], None]] = {
    3: _relative32,  # REL32
    10: _branch,  # THM_CALL
    30: _branch,  # THM_JUMP24
}
"""The functions that carry out relocations, by kind."""
