"""A call of a torch operator under conversion, and the table of the functions that convert one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.foreign.values import Value as Argument
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Converted: TypeAlias = "Value | Sequence[Value | None]"
"""The value of a call, or those of its results in order; None for one that must not be used."""
Conversion: TypeAlias = "Callable[[Call], Converted]"
ConversionT = TypeVar("ConversionT", bound="Callable[[Call], object]")

CONVERSIONS: dict[str, Conversion] = {}
"""The function that converts an overload, by the overload's name (`aten.add.Tensor`)."""


def converts(*names: str) -> Callable[[ConversionT], ConversionT]:
    """Enter a function as the conversion of some overloads of `aten`: `"add.Tensor add.Scalar"`."""

    def enter(function: ConversionT) -> ConversionT:
        for name in " ".join(names).split():
            add_conversion(name, cast(Conversion, function))
        return function

    return enter


def add_conversion(name: str, function: Conversion) -> None:
    """Enter the conversion of an overload of `aten`."""
    assert f"aten.{name}" not in CONVERSIONS, f"two conversions of {name}"
    CONVERSIONS[f"aten.{name}"] = function


@dataclass(frozen=True)
class Call:
    """A call with arguments as values of `graph`, and the point of insertion."""

    op: ForeignOp
    at: Formula

    def tensor(self, name: str = "self") -> Value:
        """An operand."""
        value = self.op.tensor(name)
        assert value is not None
        return self.at.value(value)

    def optional(self, name: str) -> Value | None:
        """An operand that may be absent."""
        value = self.op.tensor(name)
        return None if value is None else self.at.value(value)

    def tensors(self, name: str = "tensors") -> list[Value]:
        """The operands of a list, all of them given."""
        return [self.at.value(cast(SSAValue, value)) for value in self.op.tensors(name)]

    def has(self, name: str) -> bool:
        """Whether the overload has an argument."""
        return name in self.op.SIGNATURE.by_name

    def value(self, name: str) -> Argument:
        """An argument that is no operand; None where the overload does not have it."""
        return self.op.value(name) if self.has(name) else None

    def integer(self, name: str) -> int:
        """A number. Raises: StepwellError for a size that is open."""
        value = self.value(name)
        if isinstance(value, Dim):
            raise self.unsupported(f"`{name}` must be a number, found the open size {value}")
        return int(cast(int, value))

    def number(self, name: str) -> float:
        """A number that may have a fraction."""
        return cast(float, self.value(name))

    def flag(self, name: str) -> bool:
        """A truth value; false where the overload does not have the argument."""
        return bool(self.value(name))

    def integers(self, name: str, count: int | None = None) -> tuple[int, ...]:
        """Numbers; a single one stands for `count` equal ones."""
        value = self.value(name)
        items = cast("Sequence[Argument]", value if isinstance(value, Sequence) else [value])
        if any(not isinstance(item, int) for item in items):
            raise self.unsupported(f"`{name}` must be numbers, found {', '.join(map(str, items))}")
        found = tuple(int(cast(int, item)) for item in items)
        return found * count if count is not None and len(found) == 1 else found

    def sizes(self, name: str) -> tuple[Dim, ...]:
        """Sizes, numbers or expressions."""
        value = self.value(name)
        items = cast("Sequence[int | Dim]", value if isinstance(value, Sequence) else [value])
        return tuple(map(Dim.of, items))

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

    @property
    def element(self) -> Attribute:
        """The element type of the first result."""
        return tensor_of(self.op.results[0]).element_type

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dimensions of the first result."""
        return dims_of(self.op.results[0].type)

    def result_element(self, position: int) -> Attribute:
        """The element type of a result."""
        return tensor_of(self.op.results[position]).element_type

    def result_dims(self, position: int) -> tuple[Dim, ...]:
        """The dimensions of a result."""
        return dims_of(self.op.results[position].type)

    def insert(self, op: Operation) -> list[Value]:
        """Insert an op; returns its results."""
        return [self.at.value(result) for result in self.at.rewriter.insert(op).results]

    def unsupported(self, message: str, help: str | None = None) -> StepwellError:
        """The error for arguments that the conversion does not take."""
        return StepwellError("unsupported", self.op, f"{self.op.SIGNATURE.name}: {message}", help=help)
