"""Records of kernels of equal structure and other sizes, for kernels that were not tuned."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

from stepwell.tools.records.record import TaskRecord

MOST_DISTANCE = 2.0
"""The most that sizes may differ: the sum of the absolute log2 of the ratios of different sizes."""
_TYPE = re.compile(r"tensor<([^<>]*)>|array<i64: ([^<>]*)>|\[[-\d, ]*\]")
_NUMBER = re.compile(r"\d+")


class Structure(NamedTuple):
    """The text of a kernel without its sizes, and these."""

    text: str
    sizes: tuple[int, ...]


def structure_of(text: str) -> Structure:
    """The structure of a kernel, from its text without names."""
    sizes: list[int] = []

    def without(match: re.Match[str]) -> str:
        sizes.extend(map(int, _NUMBER.findall(_extents(match[0]))))
        return _NUMBER.sub("#", _extents(match[0])) + match[0][len(_extents(match[0])) :]

    return Structure(_TYPE.sub(without, text), tuple(sizes))


def _extents(type: str) -> str:
    """The part of a type before its element type, whose number is no size."""
    return type[: type.rindex("x") + 1] if type.startswith("tensor<") and "x" in type else type


def distance(a: Sequence[int], b: Sequence[int]) -> float:
    """The distance of sizes; infinite where a size is 0 or 1 on one side only."""
    pairs = {(x, y) for x, y in zip(a, b, strict=True) if x != y}
    if any(min(pair) <= 1 for pair in pairs):
        return float("inf")
    return sum(abs(log2(x / y)) for x, y in pairs)


def nearest(text: str, tasks: Mapping[str, TaskRecord]) -> list[str]:
    """The tasks of equal structure that are near enough, the nearest first."""
    own = structure_of(text)
    found: list[tuple[float, str]] = []
    for name, task in tasks.items():
        other = structure_of(task.text)
        if other.text == own.text and (apart := distance(own.sizes, other.sizes)) <= MOST_DISTANCE:
            found.append((apart, name))
    return [name for _, name in sorted(found)]
