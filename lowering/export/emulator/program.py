"""
Programs that run an exported model under an emulator: a driver without a C library, linked with the model.

The program maps memory at a fixed address, fills it from standard input (arrays, and the structs of a call
with pointers to them), calls the model, and writes the status and the memory to standard output.
System calls are bytes of machine code, since LLVM assembles nothing for other machines than its own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stepwell.lowering.export.elf_object import header
from stepwell.lowering.export.elf_shared import EXECUTABLE, patched
from stepwell.lowering.export.emulator.boards import Board, board_object, board_program, board_system
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.link.elf import ObjectFile, Relocation, Section, Symbol, elf_class
from stepwell.runtime.link.elf_writer import LOAD, READ, RUN, program_bytes, program_row

BASE = 0x20000000
"""The address of the memory of a call: free, and below 4 GiB."""
_TEXT_ADDRESS = 0x10000
_PAGE_BYTES = 1 << 16
START, _DRIVER_NAME = "stepwell_start", "stepwell_driver"
_CALL = 4  # R_X86_64_PLT32
HEADER_WORDS = 8
"""i64 at the begin of standard input: bytes of the memory, then the arguments of the call."""


class _System(NamedTuple):
    """The numbers of system calls, and the function that makes them: `iN system(iN number, 5 or 6 words)`."""

    read: int
    write: int
    exit: int
    map: int
    code: bytes
    start: bytes = b""
    """Code that aligns the stack for the call at its end, where a program's stack is not a function's."""


def _moves(register: int, first: int, count: int) -> list[tuple[int, int]]:
    """(to, from): the number of the call, then each argument one register down."""
    return [(register, first), *((first + i, first + i + 1) for i in range(count))]


_AARCH64 = [0xAA0003E0 | source << 16 | to for to, source in _moves(8, 0, 6)] + [0xD4000001, 0xD65F03C0]
_RISCV = [source << 15 | to << 7 | 0x13 for to, source in _moves(17, 10, 6)] + [0x73, 0x8067]
# push {r4, r5, r7, lr}; moves; ldr r3, r4, r5 from the stack; svc; pop {r4, r5, r7, pc}
_ARMV7 = [
    0xE92D40B0,
    *(0xE1A00000 | to << 12 | source for to, source in _moves(7, 0, 3)),
    *(0xE59D3010, 0xE59D4014, 0xE59D5018, 0xEF000000, 0xE8BD80B0),
]
_SYSTEMS: Mapping[str, _System] = {
    "aarch64": _System(63, 64, 93, 222, struct.pack("<9I", *_AARCH64)),
    "riscv64": _System(63, 64, 93, 222, struct.pack("<9I", *_RISCV)),
    "riscv32": _System(63, 64, 93, 222, struct.pack("<9I", *_RISCV)),
    "armv7": _System(3, 4, 1, 192, struct.pack("<10I", *_ARMV7)),
    # mov rax, rdi; rdi = rsi; rsi = rdx; rdx = rcx; r10 = r8; r8 = r9; r9 = [rsp + 8]; syscall; ret
    "x86_64": _System(
        0, 1, 60, 9, bytes.fromhex("4889f8 4889f7 4889d6 4889ca 4d89c2 4d89c8 4c8b4c2408 0f05 c3"),
        bytes.fromhex("4883e4f0 e800000000"),  # and rsp, -16; call
    ),
}  # fmt: skip

_SYSTEM = "declare {w} @stepwell_system({w}, {w}, {w}, {w}, {w}, {w}, {w})"
_DRIVER = """
{calls}
{run}

define internal void @fill(ptr %to, {w} %bytes) nounwind {{
entry:
  br label %next
next:
  %done = phi {w} [ 0, %entry ], [ %sum, %more ]
  %left = sub {w} %bytes, %done
  %empty = icmp eq {w} %left, 0
  br i1 %empty, label %end, label %ask
ask:
  %place = getelementptr i8, ptr %to, {w} %done
  %at = ptrtoint ptr %place to {w}
  %got = call {w} @stepwell_system({w} {read}, {w} 0, {w} %at, {w} %left, {w} 0, {w} 0, {w} 0)
  %bad = icmp slt {w} %got, 1
  br i1 %bad, label %end, label %more
more:
  %sum = add {w} %done, %got
  br label %next
end:
  ret void
}}
define internal void @drain(ptr %from, {w} %bytes) nounwind {{
entry:
  br label %next
next:
  %done = phi {w} [ 0, %entry ], [ %sum, %more ]
  %left = sub {w} %bytes, %done
  %empty = icmp eq {w} %left, 0
  br i1 %empty, label %end, label %put
put:
  %place = getelementptr i8, ptr %from, {w} %done
  %at = ptrtoint ptr %place to {w}
  %got = call {w} @stepwell_system({w} {write}, {w} 1, {w} %at, {w} %left, {w} 0, {w} 0, {w} 0)
  %bad = icmp slt {w} %got, 1
  br i1 %bad, label %end, label %more
more:
  %sum = add {w} %done, %got
  br label %next
end:
  ret void
}}
define hidden ptr @stepwell_allocate(ptr %user, i64 %slot, i64 %bytes) nounwind {{
  %next = load i64, ptr %user, align 8
  %size = add i64 %bytes, 63
  %whole = and i64 %size, -64
  %end = add i64 %next, %whole
  %limit.slot = getelementptr i64, ptr %user, i64 1
  %limit = load i64, ptr %limit.slot, align 8
  %fits = icmp ule i64 %end, %limit
  %after = select i1 %fits, i64 %end, i64 %next
  store i64 %after, ptr %user, align 8
  %place = inttoptr i64 %next to ptr
  %given = select i1 %fits, ptr %place, ptr null
  ret ptr %given
}}
define void @{driver}() nounwind {{
entry:
  %header = alloca [{words} x i64], align 8
  call void @fill(ptr %header, {w} {header_bytes})
  %wide = load i64, ptr %header, align 8
  %bytes = {narrow}
  %r = call {w} @stepwell_system({w} {map}, {w} {base}, {w} %bytes, {w} 3, {w} 50, {w} -1, {w} 0)
  %memory = inttoptr {w} {base} to ptr
  call void @fill(ptr %memory, {w} %bytes)
{loads}  %hook.at = getelementptr i64, ptr %header, i64 {hook}
  %hook.wide = load i64, ptr %hook.at, align 8
  %hook = inttoptr i64 %hook.wide to ptr
  store ptr @stepwell_allocate, ptr %hook, align 8
  %status = call i32 @{name}_run({arguments})
  %out = alloca i64, align 8
  %status.wide = sext i32 %status to i64
  store i64 %status.wide, ptr %out, align 8
  call void @drain(ptr %out, {w} 8)
  call void @drain(ptr %memory, {w} %bytes)
  %e = call {w} @stepwell_system({w} {exit}, {w} 0, {w} 0, {w} 0, {w} 0, {w} 0, {w} 0)
  unreachable
}}
"""


def driver_code(name: str, arch: str, arguments: int, board: Board | None, address: int | None = None) -> str:
    """
    The IR of the driver of a model whose `run` has a number of arguments; for a system, or a board.

    Args: `address` is the address of `run`, if `run` is not a function of the same program.
    """
    system, elf = _SYSTEMS["armv7" if board else arch], elf_class(arch)
    word, driver = f"i{elf.bits}", _DRIVER_NAME if system.start or board else START
    calls = board_system(board, system.read, system.write, system.exit) if board else _SYSTEM.format(w=word)
    loads = "".join(
        f"  %p{i} = getelementptr i64, ptr %header, i64 {i + 1}\n  %w{i} = load i64, ptr %p{i}, align 8\n"
        f"  %a{i} = inttoptr i64 %w{i} to ptr\n"
        for i in range(arguments)
    )
    return _DRIVER.format(
        calls=calls, w=word, name=name, driver=driver, words=HEADER_WORDS, header_bytes=8 * HEADER_WORDS,
        base=board.memory if board else BASE,
        read=system.read, write=system.write, exit=system.exit, map=system.map, hook=HEADER_WORDS - 1,
        narrow="add i64 %wide, 0" if elf.bits == 64 else "trunc i64 %wide to i32",
        loads=loads, run=_run_function(name, word, arguments, address),
        arguments=", ".join(f"ptr %a{i}" for i in range(arguments)),
    )  # fmt: skip


def _run_function(name: str, word: str, arguments: int, address: int | None) -> str:
    """The declaration of the function that runs the model, or its definition as a call of an address."""
    if address is None:
        return f"declare i32 @{name}_run({', '.join(['ptr'] * arguments)})"
    given = ", ".join(f"ptr %a{i}" for i in range(arguments))
    return (
        f"define internal i32 @{name}_run({given}) nounwind {{\n"
        f"  %run = inttoptr {word} {address} to ptr\n  %status = call i32 %run({given})\n"
        "  ret i32 %status\n}"
    )


def system_object(arch: str, board: Board | None) -> ObjectFile:
    """The object with the function that makes system calls, and the code that aligns the stack."""
    if board is not None:
        return board_object(START, _DRIVER_NAME)
    system = _SYSTEMS[arch]
    size, start = len(system.code), len(system.start)
    symbols = [Symbol("", 0, 0, 0, True, False), Symbol("stepwell_system", 1, 0, size, False, False, True)]
    relocations: tuple[Relocation, ...] = ()
    if start:
        symbols += [
            Symbol(START, 1, size, start, False, False, True),
            Symbol(_DRIVER_NAME, 0, 0, 0, False, False),
        ]
        relocations = (Relocation(size + start - 4, _CALL, 3, -4),)
    section = Section(1, ".text", system.code + system.start, 16, True, relocations)
    return ObjectFile(arch, (section,), tuple(symbols))


def emulated_program(parts: Parts, board: Board | None) -> list[Chunk]:
    """The executable of parts with a driver: code at a fixed address, weights on pages after it."""
    if board is not None:
        return board_program(parts, board, START)
    arch = parts.code.arch
    elf = elf_class(arch)
    rows = 1 + bool(parts.weights)
    text_offset = elf.header.size + rows * program_bytes(elf)
    text_offset += -text_offset % parts.code.alignment
    start = _TEXT_ADDRESS + text_offset
    end = text_offset + len(parts.code.contents)
    weights_offset = end + -end % ARENA_ALIGNMENT
    weights = _TEXT_ADDRESS + _PAGE_BYTES + weights_offset
    table = [program_row(elf, LOAD, READ | RUN, 0, _TEXT_ADDRESS, end, _PAGE_BYTES)]
    chunks = weight_chunks(parts.weights)
    if chunks:
        size = sum(map(len, chunks))
        table.append(program_row(elf, LOAD, READ, weights_offset, weights, size, _PAGE_BYTES))
    entry = start + parts.code.symbols[START][0]
    first = header(arch, EXECUTABLE, sections=0, section_table=0, programs=rows, entry=entry)
    head = first + b"".join(table)
    text = patched(parts, start, weights)
    gap = bytes(weights_offset - end) if chunks else b""
    return [head.ljust(text_offset, b"\0"), text, gap, *chunks]


def words(values: Sequence[int]) -> bytes:
    """The header of standard input."""
    return struct.pack(f"<{HEADER_WORDS}q", *values)
