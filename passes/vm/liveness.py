"""
Liveness of registers on ops of `vm`: those whose values some path reads after an instruction.

Backward data flow over sets of registers (Aho, Lam, Sethi, Ullman, "Compilers", 9.2.5), as bits of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from stepwell.dialects.vm import VmFuncOp
from stepwell.dialects.vm.instructions import InstructionOp


def bits_of(registers: Iterable[int]) -> int:
    """A set of registers as bits."""
    bits = 0
    for register in registers:
        bits |= 1 << register
    return bits


def registers_in(bits: int) -> Iterator[int]:
    """The registers of a set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


@dataclass(frozen=True)
class LiveRegisters:
    """The registers of a function whose values are read later."""

    after: dict[Operation, int]
    """By instruction, as bits."""

    @staticmethod
    def of(function: VmFuncOp) -> LiveRegisters:
        """The live registers of a function."""
        blocks = list(function.body.blocks)
        before: dict[Block, int] = dict.fromkeys(blocks, 0)
        sources: dict[Block, list[Block]] = {block: [] for block in blocks}
        for block in blocks:
            for target in _targets(block):
                sources[target].append(block)
        after: dict[Operation, int] = {}
        waiting = dict.fromkeys(blocks)
        while waiting:
            block, _ = waiting.popitem()
            live = 0
            for target in _targets(block):
                live |= before[target]
            for op in reversed(list(block.ops)):
                after[op] = live
                if isinstance(op, InstructionOp):
                    live = live & ~bits_of(op.registers_written) | bits_of(op.registers_read)
            if live != before[block]:
                before[block] = live
                waiting.update(dict.fromkeys(sources[block]))
        return LiveRegisters(after)


def _targets(block: Block) -> Iterable[Block]:
    return block.last_op.successors if block.last_op is not None else ()
