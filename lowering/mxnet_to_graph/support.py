"""A call of an operator of MXNet under conversion, and the table of conversions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue

from stepwell.dialects.graph.relations import is_integer
from stepwell.lowering.to_graph import Conversions, OperandCall, Value
from stepwell.runtime.errors import StepwellError

CONVERSIONS = Conversions()
"""The function that converts an operator, by the operator's name (`Convolution`)."""
converts = CONVERSIONS.converts


@dataclass(frozen=True)
class Call(OperandCall):
    """A call of an operator; its axes are counted from the front or from the end."""

    def given(self, name: str) -> SSAValue:
        """An operand, whose shape must be known by now."""
        value = super().given(name)
        if not isinstance(value.type, TensorType):
            message = f"{self.op.SIGNATURE.name}: the shape of `{name}` is not in the file"
            help = 'give the shapes of the inputs: --input-shape NAME=1x5, or input_shapes={"NAME": [1, 5]}'
            raise StepwellError("unsupported", self.op, message, help=help)
        return value

    def tensor(self, name: str = "data") -> Value:
        """An operand."""
        return super().tensor(name)

    def text(self, name: str) -> str:
        """An argument that is text."""
        return cast(str, self.value(name))

    def axis(self, rank: int | None = None, name: str = "axis") -> int:
        """An argument that is an axis, counted from the front."""
        return self.checked_axis(self.integer(name), self.tensor().rank if rank is None else rank)

    def numbers(self, name: str, count: int, default: int) -> list[int]:
        """As many numbers as there are spatial axes. Raises: StepwellError `invalid-model` for others."""
        found = list(self.integers(name)) or [default] * count
        if len(found) != count:
            raise self.invalid(f"`{name}` must have {count} numbers, found {found}")
        return found

    def indices(self, name: str) -> Value:
        """An operand of indices, which MXNet has as floats."""
        value = self.tensor(name)
        return value if is_integer(value.element) else value.cast(i64)

    def expect_layout(self, *layouts: str) -> None:
        """Refuse feature maps in another order of axes."""
        if (layout := self.text("layout")) not in ("None", *layouts):
            raise self.unsupported(f"feature maps in the order {layout}")


def both_sides(pads: Sequence[int]) -> list[int]:
    """Pads that are equal before and after."""
    return [*pads, *pads]
