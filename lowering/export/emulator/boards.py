"""
Emulated boards of microcontrollers: addresses of their memories, and access to files of this machine.

A board has no system: its emulator stops at an instruction of the program (Arm calls this semihosting), does
what registers say, and goes on. A board begins at a table of two addresses: of the stack, and of the first
instruction.
Source: QEMU's documentation of its boards (mps2); Semihosting for AArch32 and AArch64, section 5.
"""

from __future__ import annotations

import shlex
import struct
from collections.abc import Mapping
from typing import NamedTuple

from stepwell.lowering.export.elf_object import header
from stepwell.lowering.export.elf_shared import EXECUTABLE, patched
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.elf import ObjectFile, Relocation, Section, Symbol, elf_class
from stepwell.runtime.link.elf_writer import LOAD, READ, RUN, program_bytes, program_row
from stepwell.runtime.link.thumb import THUMB

_OPTIONS = "-display none -serial none -monitor none -semihosting-config enable=on,target=native -kernel"
_HANDLES_BYTES = 16
"""The bytes at the stack's end for two files, each as its handle plus one, 0 before it is open."""
_TABLE_BYTES = 64
_CALL = 10  # R_ARM_THM_CALL


class Board(NamedTuple):
    """The memories of a board."""

    code: int
    """The address of the table from which it starts, with code after it."""
    stack: int
    """The end of the stack."""
    memory: int
    """The begin of the memory for arrays of a call, with weights at its end."""
    memory_bytes: int = 16 << 20


_BOARDS: Mapping[str, Board] = {
    "mps2-an386": Board(0, 0x20400000, 0x21000000),
    "mps2-an500": Board(0, 0x20400000, 0x60000000),
    "mps2-an505": Board(0x10000000, 0x38200000, 0x80000000),
}


def board_of(emulator: str) -> Board | None:
    """The board of an emulator's command; None where it runs programs of a system."""
    return next((board for name, board in _BOARDS.items() if name in emulator), None)


def board_command(emulator: str) -> list[str]:
    """The command that runs a program on a board, whose path comes last."""
    return shlex.split(f"{emulator} {_OPTIONS}")


def expect_fitting(board: Board, picture_bytes: int, weight_bytes: int) -> None:
    """Require memory for a call. Raises: StepwellError `too-large`."""
    if picture_bytes + weight_bytes > board.memory_bytes:
        call = f", a call {picture_bytes:,}" if picture_bytes else ""
        message = (
            f"weights take {weight_bytes:,} bytes{call}, and the emulated board has {board.memory_bytes:,}"
        )
        raise StepwellError("too-large", None, message, help="smaller inputs, or a board of your own")


# movw, movt r0, 0xE000ED88; ldr r1, [r0]; orr r1, r1, 0xF << 20; str r1, [r0]: instructions on floats
# dsb; isb; bl driver
_START = bytes.fromhex("4ef68850 cef20000 0168 41f47001 0160 bff34f8f bff36f8f fff7feff")
_HOST = bytes.fromhex("abbe 7047")  # bkpt 0xAB; bx lr


def board_object(start: str, driver: str) -> ObjectFile:
    """The object with what starts, named `start`, and calls `driver`; and with the call of the emulator."""
    symbols = (
        Symbol("", 0, 0, 0, True, False),
        Symbol(start, 1, 0, len(_START), False, False, True),
        Symbol("stepwell_host", 1, len(_START), len(_HOST), False, False, True),
        Symbol(driver, 0, 0, 0, False, False),
    )
    section = Section(1, ".text", _START + _HOST, 4, True, (Relocation(len(_START) - 4, _CALL, 3, 0),))
    return ObjectFile(THUMB, (section,), symbols)


_SYSTEM = """
@stdin = private unnamed_addr constant [11 x i8] c"/dev/stdin\\00"
@stdout = private unnamed_addr constant [12 x i8] c"/dev/stdout\\00"
declare i32 @stepwell_host(i32, ptr)

define internal i32 @asked(i32 %operation, i32 %a, i32 %b, i32 %c) nounwind {{
  %block = alloca [3 x i32], align 4
  %second = getelementptr i32, ptr %block, i32 1
  %third = getelementptr i32, ptr %block, i32 2
  store volatile i32 %a, ptr %block, align 4
  store volatile i32 %b, ptr %second, align 4
  store volatile i32 %c, ptr %third, align 4
  %r = call i32 @stepwell_host(i32 %operation, ptr %block)
  ret i32 %r
}}
define internal i32 @handle(i32 %place, ptr %name, i32 %mode, i32 %length) nounwind {{
entry:
  %slot = inttoptr i32 %place to ptr
  %known = load volatile i32, ptr %slot, align 4
  %is.closed = icmp eq i32 %known, 0
  br i1 %is.closed, label %open, label %end
open:
  %at = ptrtoint ptr %name to i32
  %new = call i32 @asked(i32 1, i32 %at, i32 %mode, i32 %length)
  %more = add i32 %new, 1
  store volatile i32 %more, ptr %slot, align 4
  br label %end
end:
  %next = phi i32 [ %known, %entry ], [ %more, %open ]
  %r = sub i32 %next, 1
  ret i32 %r
}}
define internal i32 @stepwell_system(i32 %n, i32 %a, i32 %b, i32 %c, i32 %d, i32 %e, i32 %f) nounwind {{
entry:
  switch i32 %n, label %other [ i32 {read}, label %read  i32 {write}, label %write  i32 {exit}, label %exit ]
read:
  %input = call i32 @handle(i32 {input}, ptr @stdin, i32 1, i32 10)
  %unread = call i32 @asked(i32 6, i32 %input, i32 %b, i32 %c)
  %got = sub i32 %c, %unread
  ret i32 %got
write:
  %output = call i32 @handle(i32 {output}, ptr @stdout, i32 5, i32 11)
  %unwritten = call i32 @asked(i32 5, i32 %output, i32 %b, i32 %c)
  %put = sub i32 %c, %unwritten
  ret i32 %put
exit:
  %reason = inttoptr i32 131110 to ptr
  %none = call i32 @stepwell_host(i32 24, ptr %reason)
  ret i32 %none
other:
  ret i32 0
}}
"""


def board_system(board: Board, read: int, write: int, exit: int) -> str:
    """The IR of `stepwell_system`, which gets the numbers of what a system would do."""
    handles = board.stack - _HANDLES_BYTES
    return _SYSTEM.format(read=read, write=write, exit=exit, input=handles, output=handles + 4)


def board_program(parts: Parts, board: Board, start: str) -> list[Chunk]:
    """The executable of parts with a driver: table and code at the board's begin, weights in its memory."""
    arch = parts.code.arch
    elf, chunks = elf_class(arch), weight_chunks(parts.weights)
    rows = 1 + bool(chunks)
    offset = elf.header.size + rows * program_bytes(elf)
    offset += -offset % ARENA_ALIGNMENT
    text_bytes = _TABLE_BYTES + len(parts.code.contents)
    weights_offset = offset + text_bytes + -(offset + text_bytes) % ARENA_ALIGNMENT
    weights = weights_address(board, parts.weight_bytes)
    table = program_row(elf, LOAD, READ | RUN, offset, board.code, text_bytes, 4)
    if chunks:
        table += program_row(elf, LOAD, READ, weights_offset, weights, parts.weight_bytes, 4)
    entry = board.code + _TABLE_BYTES + parts.code.symbols[start][0] | 1
    vectors = struct.pack("<2I", board.stack - _HANDLES_BYTES, entry).ljust(_TABLE_BYTES, b"\0")
    first = header(arch, EXECUTABLE, sections=0, section_table=0, programs=rows, entry=entry)
    # Code depends on distances alone.
    text = vectors + patched(parts, _TABLE_BYTES, weights - board.code)
    gap = bytes(weights_offset - offset - text_bytes) if chunks else b""
    return [(first + table).ljust(offset, b"\0"), text, gap, *chunks]


def weights_address(board: Board, weight_bytes: int) -> int:
    """The address of weights: at the end of the memory."""
    return (board.memory + board.memory_bytes - weight_bytes) & -ARENA_ALIGNMENT
