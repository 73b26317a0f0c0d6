"""A call of a StableHLO operation under conversion, and the table of the functions that convert one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.lowering.to_graph import Conversions, ForeignCall, Value
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.dims import Dim

CONVERSIONS = Conversions()
"""The function that converts an operation, by its name (`dot_general`)."""
converts = CONVERSIONS.converts


@dataclass(frozen=True)
class Call(ForeignCall):
    """A call of an operation."""

    def tensor(self, name: str = "x") -> Value:
        """An operand."""
        return super().tensor(name)

    def tensors(self, name: str = "xs") -> list[Value]:
        """The operands of a list."""
        return super().tensors(name)

    def given(self, name: str, count: int, default: int) -> Sequence[int]:
        """Numbers, or as many times the default where none are given."""
        return self.integers(name) or [default] * count

    def pairs(self, name: str, count: int) -> list[tuple[int, int]]:
        """Numbers before and after each axis, row by row; zeros where none are given."""
        flat = self.integers(name) or (0,) * (2 * count)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def operand_sizes(self, name: str) -> tuple[Dim, ...]:
        """An operand of sizes. Raises: StepwellError `unsupported` for one that depends on data."""
        dims = symbolic_dims(self.tensor(name).ssa, self.at.lowering.weights)
        if dims is None or any(dim.is_unknown for dim in dims):
            raise self.unsupported(f"`{name}` depends on data, not on the shapes of the inputs alone")
        return dims


def product(dims: Sequence[Dim]) -> Dim:
    """The number of elements."""
    total = Dim.of(1)
    for dim in dims:
        total = total * dim
    return total
