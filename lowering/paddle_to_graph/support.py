"""A call of an operator of Paddle under conversion, and the table of conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from stepwell.lowering.to_graph import Conversions, OperandCall, Value

CONVERSIONS = Conversions()
"""The function that converts an operator, by the operator's name (`conv2d`)."""
converts = CONVERSIONS.converts


@dataclass(frozen=True)
class Call(OperandCall):
    """A call of an operator; its axes are counted from the front or from the end."""

    def text(self, name: str) -> str:
        """An argument that is text."""
        return cast(str, self.value(name))

    def axis(self, rank: int | None = None, name: str = "axis") -> int:
        """An argument that is an axis, counted from the front."""
        return self.checked_axis(self.integer(name), self.tensor().rank if rank is None else rank)

    def operand_axis(self, rank: int | None = None, name: str = "axis") -> int:
        """An operand that is an axis, counted from the front."""
        (axis,) = self.constants(name)
        return self.checked_axis(axis, self.tensor().rank if rank is None else rank)

    def operand_axes(self, x: Value, name: str = "axis") -> list[int]:
        """An operand that lists axes; all axes where it is empty."""
        return self.checked_axes(self.constants(name), x.rank) or list(range(x.rank))

    def constants(self, name: str) -> list[int]:
        """The whole numbers of an operand of rank 0 or 1."""
        return [int(each) for each in self.operand_array(name).reshape(-1)]

    def scalar(self, name: str) -> float:
        """The only number of a constant operand."""
        (number,) = self.operand_array(name).reshape(-1).tolist()
        return float(number)

    def expect_channels_first(self) -> None:
        """Refuse feature maps with channels last."""
        layout = self.text("data_format")
        if layout not in ("NCHW", "NCDHW", "AnyLayout"):
            raise self.unsupported(f"feature maps in the order {layout}")


def alternating(numbers: Sequence[int]) -> tuple[list[int], list[int]]:
    """The begins and the ends of numbers that alternate."""
    return list(numbers[::2]), list(numbers[1::2])
