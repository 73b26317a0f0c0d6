"""
Stack frames of machine code: the bytes by which a function moves the stack pointer.

Objects contain no frame sizes (LLVM writes them into assembly alone), so instructions are decoded. A frame
may come out larger than it is, never smaller: instructions in all parts of a function are added.
Source: the architectures' manuals; the prologues that LLVM emits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial

_ALIGNED_BYTES = 64
"""The largest alignment to which code rounds its stack pointer: the size of the widest vector."""


def frame_bytes(arch: str, code: bytes) -> int | None:
    """The size of a function's frame with its return address; None where it depends on the machine."""
    return _FRAMES[arch](code)


def _x86_64(code: bytes) -> int | None:
    pushes, position = 0, 0
    while (step := _push_bytes(code, position)) or code.startswith(_MOVE, position):
        pushes += bool(step)
        position += step or len(_MOVE)
    # A frame that is made later on, after a test that returns, saves at most seven registers.
    saved = 8 * pushes if position else 8 * 7
    aligned = b"\x48\x83\xe4" in code or b"\x48\x81\xe4" in code
    saved += sum(int.from_bytes(size, "little") for size in _CHECKED.findall(code))
    return 8 + saved + _moves_of_rsp(code) + _ALIGNED_BYTES * aligned


_MOVE = b"\x48\x89\xe5"  # mov rbp, rsp
_CHECKED = re.compile(rb"\xb8(....)\xe8....\x48\x29\xc4", re.DOTALL)
"""`mov eax, N`, a call of Windows' check of the stack, `sub rsp, rax`."""


def _push_bytes(code: bytes, position: int) -> int:
    """The length of the push of a register at a position; 0 for another instruction."""
    prefix = int(code.startswith(b"\x41", position))
    opcode = code[position + prefix : position + prefix + 1]
    return 1 + prefix if b"\x50" <= opcode < b"\x58" else 0


def _moves_of_rsp(code: bytes) -> int:
    """The sum of all `sub rsp, N`."""
    return sum(_numbers(code, b"\x48\x83\xec", 1)) + sum(_numbers(code, b"\x48\x81\xec", 4))


def _numbers(code: bytes, opcode: bytes, size: int) -> Iterator[int]:
    """The constants after an opcode; what is negative or very large is in the middle of another one."""
    position = code.find(opcode)
    while position >= 0:
        start = position + len(opcode)
        value = int.from_bytes(code[start : start + size], "little", signed=True)
        if 0 < value < _LARGEST:
            yield value
        position = code.find(opcode, position + 1)


_LARGEST = 1 << 24


def _aarch64(code: bytes) -> int | None:
    total, copy = 0, _SP
    for word in _words(code):
        if word & 0xFF800000 == 0xD1000000 and word >> 5 & 31 in (_SP, copy):  # sub, of sp or its copy
            total += (word >> 10 & 0xFFF) << 12 * (word >> 22 & 1)
            copy = word & 31
        elif word & 0xFFC003E0 in (0xA98003E0, 0x6D8003E0):  # stp of two registers of 64 bits, before it
            total += -8 * _signed(word >> 15, 7)
        elif word & 0xFFC003E0 == 0xAD8003E0:  # of 128 bits
            total += -16 * _signed(word >> 15, 7)
        elif word & 0xFFE00FE0 in (0xF8000FE0, 0xFC000FE0):  # str of one
            total += -_signed(word >> 12, 9)
        elif word & 0xFFFFF81F == 0x043F501F:  # addvl, of registers of 256 bits
            total += -32 * _signed(word >> 5, 6) if word >> 10 & 1 else 0
        elif word & 0xFF80001F == 0x9200001F:  # and, into sp
            total += _ALIGNED_BYTES
        elif word & 0xFFE0FFFF == 0xCB2063FF:  # sub of a register
            return None
    return total


_SP = 31


def _armv7(code: bytes) -> int | None:
    total = 0
    for word in _words(code):
        if word & 0x0FFF0000 == 0x092D0000:  # push
            total += 4 * (word & 0xFFFF).bit_count()
        elif word & 0x0FFF0FFF == 0x052D0004:  # push of one
            total += 4
        elif word & 0x0FBF0E00 == 0x0D2D0A00:  # vpush
            total += 4 * (word & 0xFF)
        elif word & 0x0FFFF000 == 0x024DD000:  # sub sp, sp, N
            total += _rotated(word & 0xFFF)
        elif word & 0x0FFFF000 == 0x03CDD000 or word & 0x0FE0FFFF == 0x07C0D01F:  # bic, bfc
            total += _ALIGNED_BYTES
        elif word & 0x0FFFF000 == 0x004DD000:  # sub of a register
            return None
    return total


def _rotated(field: int) -> int:
    """The value of a constant of 12 bits: 8 of them, rotated."""
    value, shift = field & 0xFF, 2 * (field >> 8)
    return (value >> shift | value << (32 - shift)) & 0xFFFFFFFF


def _thumb(code: bytes) -> int | None:
    total, position = 0, 0
    while position + 2 <= len(code):
        (half,) = struct.unpack_from("<H", code, position)
        position += 2
        if half >> 11 not in (0b11101, 0b11110, 0b11111):
            if half & 0xFE00 == 0xB400:  # push
                total += 4 * (half & 0x1FF).bit_count()
            elif half & 0xFF80 == 0xB080:  # sub sp, N
                total += 4 * (half & 0x7F)
            elif half & 0xFF87 == 0x4685:  # mov sp, of a register that was rounded
                total += _ALIGNED_BYTES
        elif position + 2 <= len(code):
            size = _thumb_pair(half, *struct.unpack_from("<H", code, position))
            position += 2
            if size is None:
                return None
            total += size
    return total


def _thumb_pair(first: int, second: int) -> int | None:
    """The bytes of an instruction of 32 bits; None for a register's."""
    immediate = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    if first == 0xE92D:  # push.w
        return 4 * second.bit_count()
    if first == 0xF84D and second & 0xFFF == 0xD04:  # push of one
        return 4
    if first & 0xFFBF == 0xED2D and second & 0xE00 == 0xA00:  # vpush
        return 4 * (second & 0xFF)
    if first & 0xFBEF == 0xF1AD and second & 0x8F00 == 0x0D00:  # sub.w sp, sp, N
        return _spread(immediate)
    if first & 0xFBFF == 0xF2AD and second & 0x8F00 == 0x0D00:  # subw
        return immediate
    if first & 0xFFEF == 0xEBAD and second & 0xF00 == 0xD00:  # sub of a register
        return None
    return 0


def _spread(field: int) -> int:
    """The value of a constant of 12 bits in Thumb: a byte, once or repeated, or 8 bits with a 1, rotated."""
    low = field & 0xFF
    if field >> 10:
        rotated, shift = low | 0x80, field >> 7
        return (rotated >> shift | rotated << (32 - shift)) & 0xFFFFFFFF
    return low * (0x1, 0x10001, 0x1000100, 0x1010101)[field >> 8]


def _riscv(code: bytes, *, is_64: bool) -> int | None:
    total, position, upper = 0, 0, dict[int, int]()
    while position + 2 <= len(code):
        half = int.from_bytes(code[position : position + 2], "little")
        if half & 3 != 3:
            total += _compressed(half, upper, is_64)
            position += 2
            continue
        word = int.from_bytes(code[position : position + 4], "little")
        position += 4
        register = word >> 7 & 31
        if word & 0xFFFFF == 0x10113:  # addi sp, sp, N
            total += max(0, -_signed(word >> 20, 12))
        elif word & 0xFFFFF == 0x17113:  # andi sp, sp, N
            total += _ALIGNED_BYTES
        elif word & 0x7F == 0x37:  # lui
            upper[register] = word & 0xFFFFF000
        elif word & 0x707F in (0x13, 0x1B) and word >> 15 & 31 == register and register in upper:  # addi
            upper[register] += _signed(word >> 20, 12)
        elif word & 0xFE00707F == 0x1013 and word >> 15 & 31 == register and register in upper:  # slli
            upper[register] <<= word >> 20 & 31
        elif word & 0x7F == 0x73:  # csrr, the length of vectors
            upper.pop(register, None)
        elif word & 0xFE0FFFFF == 0x40010133:  # sub sp, sp, of a register
            if (size := upper.get(word >> 20 & 31)) is None:
                return None  # a multiple of the length of the machine's vectors
            total += size
    return total


def _compressed(half: int, upper: dict[int, int], is_64: bool) -> int:
    """The bytes of an instruction of 16 bits."""
    register = half >> 7 & 31
    if half & 0xE003 == 0x6001 and register == 2:  # c.addi16sp
        bits = (half >> 12 & 1) << 9 | (half >> 6 & 1) << 4 | (half >> 5 & 1) << 6
        return max(0, -_signed(bits | (half >> 3 & 3) << 7 | (half >> 2 & 1) << 5, 10))
    value = _signed((half >> 12 & 1) << 5 | half >> 2 & 31, 6)
    if half & 0xE003 == 0x0001 and register == 2:  # c.addi
        return max(0, -value)
    if half & 0xE003 in (0x6001, 0x4001):  # c.lui, c.li
        upper[register] = value << (12 if half & 0x2000 else 0)
    elif half & 0xE003 == 0x0002 and register in upper:  # c.slli
        upper[register] <<= value & 31
    elif half & 0xE003 in (0x0001, 0x2001 if is_64 else 0x0001) and register in upper:  # c.addi, c.addiw
        upper[register] += value
    return 0


def _words(code: bytes) -> Iterator[int]:
    """The instructions of 32 bits."""
    return (word for (word,) in struct.iter_unpack("<I", code[: len(code) & ~3]))


def _signed(value: int, bits: int) -> int:
    """The lowest bits of a value as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_FRAMES: Mapping[str, Callable[[bytes], int | None]] = {
    "x86_64": _x86_64,
    "aarch64": _aarch64,
    "armv7": _armv7,
    "thumb": _thumb,
    "riscv64": partial(_riscv, is_64=True),
    "riscv32": partial(_riscv, is_64=False),
}
