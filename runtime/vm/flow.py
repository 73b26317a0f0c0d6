"""The data flow of the verifier: each register is written on every path before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple, NoReturn, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.instructions import INSTRUCTIONS, registers_read, registers_written, targets_of
from stepwell.runtime.vm.program import Function

# Of a function: its blocks by its registers, in bits of the data flow's sets.
MAX_FLOW_BITS = 1 << 30
# Visits of a block until the data flow is known; nested loops need one for each level, and two more.
MAX_VISITS = 100
ENDS = frozenset(row.name for row in INSTRUCTIONS.values() if row.is_terminator)
"""The instructions that leave a block."""


def fail(place: str, message: str) -> NoReturn:
    """Refuse a program. Raises: StepwellError `bad-bytecode`."""
    help = "compile the program again; of a text, correct the instruction"
    raise StepwellError("bad-bytecode", place, message, help=help)


def place_of(function: Function, pc: int) -> str:
    """The location of an instruction of a program, for errors."""
    text = f"@{function.name}, instruction {pc} ({function.code[pc].name})"
    location = function.location(pc)
    return f"{location}: {text}" if location else text


class _Block(NamedTuple):
    """Instructions without a jump but the last: registers as bits of numbers."""

    first: int
    end: int
    needs: int
    """Read before they are written in the block."""
    writes: int
    """Written in the block, and not emptied after it."""
    kills: int
    """Emptied in the block, and not written after it."""
    successors: tuple[int, ...]


def _blocks(function: Function) -> Iterator[_Block]:
    first = needs = writes = kills = 0
    for pc, (name, operands) in enumerate(function.code):
        for register in registers_read(name, operands):
            needs |= (1 << register) & ~writes
            if kills >> register & 1:
                needs |= 1 << function.registers  # which nothing writes
        for register in registers_written(name, operands):
            writes, kills = writes | 1 << register, kills & ~(1 << register)
        if name == "kill":
            bit = 1 << cast(int, operands[0])
            writes, kills = writes & ~bit, kills | bit
        if name in ENDS:
            yield _Block(first, pc + 1, needs, writes, kills, tuple(targets_of(name, operands)))
            first, needs, writes, kills = pc + 1, 0, 0, 0


def check_flow(function: Function) -> None:
    """Require that registers are written on every path before they are read."""
    blocks = {block.first: block for block in _blocks(function)}
    place = f"@{function.name}"
    if len(blocks) * function.registers > MAX_FLOW_BITS:
        raise StepwellError("too-large", place, f"{len(blocks)} blocks of {function.registers} registers")
    written = {0: (1 << function.parameters) - 1}
    queue, queued, visits = [0], {0}, 0
    while queue:
        first = heappop(queue)  # the order of the text is almost that of the data flow
        queued.remove(first)
        block, before = blocks[first], written[first]
        visits += 1
        if visits > MAX_VISITS * len(blocks):
            raise StepwellError("too-large", place, f"its {len(blocks)} blocks loop in too many ways")
        if block.needs & ~before:
            _fail_unwritten(function, block, before)
        after = before & ~block.kills | block.writes
        for target in block.successors:
            joined = written.get(target, -1) & after
            if written.get(target) != joined:
                written[target] = joined
                if target not in queued:
                    queued.add(target)
                    heappush(queue, target)


def _fail_unwritten(function: Function, block: _Block, written: int) -> NoReturn:
    """Report the first register of a block that is read before it is written."""
    for pc in range(block.first, block.end):
        name, operands = function.code[pc]
        for register in registers_read(name, operands):
            if not written >> register & 1:
                fail(
                    place_of(function, pc), f"register r{register} is read before it is written on every path"
                )
        for register in registers_written(name, operands):
            written |= 1 << register
        if name == "kill":
            written &= ~(1 << cast(int, operands[0]))
    fail(place_of(function, block.first), "a register of the block is read before it is written")
