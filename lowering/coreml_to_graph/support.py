"""A call of an operation of an ML program under conversion, and the table of conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from stepwell.lowering.to_graph import Conversions, OperandCall, Value

CONVERSIONS = Conversions()
"""The function that converts an operation, by the operation's name (`conv`)."""
converts = CONVERSIONS.converts


@dataclass(frozen=True)
class Call(OperandCall):
    """A call of an operation; its axes are counted from the front or from the end."""

    def axis(self, rank: int | None = None, name: str = "axis") -> int:
        """An argument that is an axis, counted from the front."""
        return self.checked_axis(self.integer(name), self.tensor().rank if rank is None else rank)

    def axes(self, name: str = "axes") -> list[int]:
        """An argument that lists axes, counted from the front; all axes where it is left out."""
        rank = self.tensor().rank
        if self.value(name) is None:
            return list(range(rank))
        return self.checked_axes(self.integers(name), rank)

    def numbers(self, name: str, count: int, default: int) -> list[int]:
        """As many numbers as there are spatial axes. Raises: StepwellError `invalid-model` for others."""
        found = list(self.integers(name)) or [default] * count
        if len(found) != count:
            raise self.invalid(f"`{name}` must have {count} numbers, found {found}")
        return found

    def flags(self, name: str, count: int) -> list[bool]:
        """A truth value for each axis, false where the argument is left out."""
        return [bool(each) for each in self.numbers(name, count, 0)]

    def text(self, name: str) -> str:
        """An argument that is text."""
        return cast(str, self.value(name))

    def scalar(self, name: str, default: float, like: Value) -> Value:
        """An operand of one element as rank 0; a number where it is left out."""
        value = self.optional(name)
        return self.at.number(default, like.element) if value is None else value.reshape([])


def pairs(numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """The begins and the ends of numbers that alternate."""
    return list(numbers[::2]), list(numbers[1::2])
