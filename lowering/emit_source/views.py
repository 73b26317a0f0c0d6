"""Buffers in source text: an array, and the position of an element by offset and strides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import OpResult, SSAValue

Term: TypeAlias = int | str
"""A number, or the text of one."""


@dataclass(frozen=True)
class Packed:
    """Elements that share 32 bits of memory, in a language without smaller ones."""

    word: str
    """The type of these 32 bits."""
    width: int
    """The bits of an element as a value; a truth value has a byte."""

    @property
    def bits(self) -> int:
        """The bits of an element in memory."""
        return max(self.width, 8)


@dataclass(frozen=True)
class View:
    """A buffer, or a part of one."""

    array: str
    sizes: tuple[Term, ...]
    strides: tuple[Term, ...]
    offset: Term = 0
    lanes: int = 1
    """The neighbouring elements that a statement may load or store, from each multiple of them on."""
    packed: Packed | None = None
    """How elements share 32 bits; None where each has memory of its own."""

    def place(self, indices: Sequence[str]) -> Term:
        """The position of an element."""
        place: Term = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            place = plus(place, times(_number(index), stride))
        return place


def dense(array: str, sizes: Sequence[Term]) -> View:
    """A buffer in row-major order."""
    strides: list[Term] = []
    step: Term = 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step = times(step, size)
    return View(array, tuple(sizes), tuple(strides))


def plus(a: Term, b: Term) -> Term:
    """a + b, folded."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if a == 0 else a if b == 0 else f"{a} + {b}"


def times(a: Term, b: Term) -> Term:
    """a * b, folded."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    return b if a == 1 else a if b == 1 else f"{_factor(a)} * {_factor(b)}"


def root_of(value: SSAValue) -> SSAValue:
    """The buffer that a view is of."""
    while (
        isinstance(value, OpResult)
        and value.op.operands
        and isinstance(value.op.operands[0].type, MemRefType)
    ):
        value = value.op.operands[0]
    return value


def _factor(term: Term) -> Term:
    return f"({term})" if isinstance(term, str) and " " in term else term


def _number(text: str) -> Term:
    return int(text) if text.isdecimal() else text
