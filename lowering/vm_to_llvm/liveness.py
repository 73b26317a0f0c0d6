"""
Liveness of registers: the last read of each value, and the values that a jump leaves behind.

Backward data flow over sets of registers (Aho, Lam, Sethi, Ullman, "Compilers", 9.2.5), as bits of numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from stepwell.runtime.vm.flow import ENDS
from stepwell.runtime.vm.instructions import registers_read, registers_written, targets_of
from stepwell.runtime.vm.program import Function


class Liveness(NamedTuple):
    """The last uses of a function's registers."""

    last_reads: list[int]
    """By instruction: the registers that it reads and whose values nothing reads after it, on any path."""
    unread: list[int]
    """By instruction: the registers that it writes and nothing reads."""
    entered: dict[tuple[int, int], int]
    """By instruction and target: the registers that are read elsewhere, but not from the target on."""
    unused: int
    """The parameters that nothing reads."""


def _bits(registers: list[int]) -> int:
    bits = 0
    for register in registers:
        bits |= 1 << register
    return bits


def liveness_of(function: Function) -> Liveness:
    """The last uses of a verified function's registers."""
    code = function.code
    reads = [_bits(registers_read(*each)) for each in code]
    writes = [_bits(registers_written(*each)) for each in code]
    targets = [tuple(targets_of(*each)) if each.name in ENDS else (pc + 1,) for pc, each in enumerate(code)]
    before = [0] * (len(code) + 1)
    sources: dict[int, list[int]] = {}
    for pc, each in enumerate(targets):
        for target in each:
            sources.setdefault(target, []).append(pc)
    waiting, queued = list(range(len(code))), [True] * len(code)
    while waiting:
        pc = waiting.pop()
        queued[pc] = False
        after = 0
        for target in targets[pc]:
            after |= before[target]
        live = after & ~writes[pc] | reads[pc]
        if live != before[pc]:
            before[pc] = live
            for source in sources.get(pc, ()):
                if not queued[source]:
                    queued[source] = True
                    waiting.append(source)
    last_reads: list[int] = []
    unread: list[int] = []
    entered: dict[tuple[int, int], int] = {}
    for pc, following in enumerate(targets):
        after = 0
        for target in following:
            after |= before[target]
        last_reads.append(reads[pc] & ~(after & ~writes[pc]))
        unread.append(writes[pc] & ~after)
        if code[pc].name in ENDS:
            for target in set(following):
                if left := after & ~before[target]:
                    entered[pc, target] = left
    return Liveness(last_reads, unread, entered, (1 << function.parameters) - 1 & ~before[0])
