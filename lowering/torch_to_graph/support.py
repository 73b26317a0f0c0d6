"""A call of a torch operator under conversion, and the table of the functions that convert one."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.lowering.to_graph import Conversions, ForeignCall, Value

CONVERSIONS = Conversions("aten.")
"""The function that converts an overload, by the overload's name (`aten.add.Tensor`)."""
converts, add_conversion = CONVERSIONS.converts, CONVERSIONS.add


@dataclass(frozen=True)
class Call(ForeignCall):
    """A call of an overload, under torch's names for operands and axes."""

    def tensor(self, name: str = "self") -> Value:
        """An operand."""
        return super().tensor(name)

    def tensors(self, name: str = "tensors") -> list[Value]:
        """The operands of a list, all of them given."""
        return super().tensors(name)

    def axis(self, name: str = "dim", rank: int | None = None) -> int:
        """An axis counted from the front, of `self` unless another rank is given."""
        rank = self.tensor().rank if rank is None else rank
        return self.integer(name) % max(rank, 1)

    def axes(self, name: str = "dim") -> list[int]:
        """Axes counted from the front, sorted; all of them for None or an empty list."""
        rank = self.tensor().rank
        if self.value(name) is None or self.value(name) == ():
            return list(range(rank))
        return sorted({axis % max(rank, 1) for axis in self.integers(name)}) if rank else []
