"""The loops of assembly and what is in each: multiply-adds, loads, stores and spills."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stepwell.lowering.kernels.machine import spill_pattern

_LABEL = re.compile(r"(\.L\w+):")
_JUMP = re.compile(r"\t(?:j\w+|b|b\.\w+|cbn?z|tbn?z)\s(?:.*[\s,])?(\.L\w+)$")
_INSTRUCTION = re.compile(r"\t(?P<name>[a-z][\w.]*)(?:\s+(?P<operands>.*))?")
_FMA = re.compile(r"v?fn?m(?:add|sub)|vp?dp|tdp|fml[as]|(?:us?|s|bf)(?:dot|mmla)")
_NO_ACCESS = re.compile(r"lea|nop|prefetch|j|call")
_READS_LAST = re.compile(r"cmp|test|v?u?comis|vptest|vtest|bt")
_WRITES_LAST = re.compile(r"v?p?mov|vp?extract|vpscatter|vscatter|vp?compress|vcvtps2ph|tilestore|set")
_KINDS = ("instructions", "fma", "loads", "stores", "spills")


def counts_of(assembly: str) -> dict[str, int]:
    """The counts of a whole assembly, as in `loops_of`."""
    lines = assembly.splitlines()
    return _counts(lines, range(len(lines)), spill_pattern(assembly))


def loops_of(assembly: str) -> list[dict[str, int]]:
    """
    The loops of an assembly of x86-64 or aarch64, outer before inner ones, as JSON values.

    A loop is what is between a label and the last jump back to it: `first` and `last` are lines, from 1 on,
    `depth` the number of loops around it. Its `instructions`, `fma` (multiply-adds and dot products),
    `loads`, `stores` and `spills` (stores of vectors on the stack) are those outside of inner loops.
    """
    lines = assembly.splitlines()
    labels = {label[1]: i for i, line in enumerate(lines) if (label := _LABEL.match(line))}
    ends: dict[int, int] = {}
    for i, line in enumerate(lines):
        if (jump := _JUMP.match(line)) and (begin := labels.get(jump[1], i)) < i:
            ends[begin] = i
    owner: dict[int, int] = {}
    for begin, end in sorted(ends.items(), key=lambda loop: loop[0] - loop[1]):
        owner |= dict.fromkeys(range(begin, end + 1), begin)
    own: dict[int, list[int]] = {begin: [] for begin in sorted(ends)}
    for i, begin in owner.items():
        own[begin].append(i)
    spills = spill_pattern(assembly)
    return [
        {
            "first": begin + 1,
            "last": ends[begin] + 1,
            "depth": sum(a < begin and ends[begin] <= b for a, b in ends.items()),
            **_counts(lines, inside, spills),
        }
        for begin, inside in own.items()
    ]


def _counts(lines: Sequence[str], inside: Sequence[int], spills: re.Pattern[str]) -> dict[str, int]:
    counts: dict[str, int] = dict.fromkeys(_KINDS, 0)
    for i in inside:
        if (found := _INSTRUCTION.match(lines[i])) is None:
            continue
        loads, stores = _accesses(found["name"], found["operands"] or "")
        counts["instructions"] += 1
        counts["fma"] += _FMA.match(found["name"]) is not None
        counts["loads"] += loads
        counts["stores"] += stores
        counts["spills"] += spills.search(lines[i]) is not None
    return counts


def _accesses(name: str, operands: str) -> tuple[bool, bool]:
    """Whether an instruction loads, and whether it stores."""
    if "[" in operands:  # aarch64
        return name.startswith("ld"), name.startswith("st")
    if ")" not in operands or _NO_ACCESS.match(name):
        return False, False
    if not re.search(r"\)(?:\s*\{.*\})*$", operands):
        return True, False
    is_read = bool(_READS_LAST.match(name))
    return is_read or not _WRITES_LAST.match(name), not is_read
