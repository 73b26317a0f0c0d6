"""Calls of another framework's operators under conversion, and tables of the functions that convert them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.foreign.values import Value as Argument
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.to_graph.expressions import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Converted: TypeAlias = "Value | Sequence[Value | None]"
"""The value of a call, or those of its results in order; None for one that must not be used."""
Conversion: TypeAlias = "Callable[[Any], Converted]"
ConversionT = TypeVar("ConversionT", bound="Callable[[Any], object]")


class Conversions:
    """
    The functions that convert the operators of a dialect, by name.

    Args: `prefix` is what all names begin with, such as `aten.`; entries are made without it.
    """

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._functions: dict[str, Conversion] = {}
        self._modules: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def __getitem__(self, name: str) -> Conversion:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def converts(self, *names: str) -> Callable[[ConversionT], ConversionT]:
        """Enter a function as the conversion of some operators: `"add.Tensor add.Scalar"`."""

        def enter(function: ConversionT) -> ConversionT:
            for name in " ".join(names).split():
                self.add(name, cast(Conversion, function))
            return function

        return enter

    def add(self, name: str, function: Conversion, module: str | None = None) -> None:
        """Enter the conversion of an operator. Args: `module` has it, if the function is of another one."""
        title = self._prefix + name
        assert title not in self._functions, f"two conversions of {title}"
        self._functions[title] = function
        if module is not None:
            self._modules[title] = module

    def family(self, name: str) -> str:
        """The name of the file that has an operator's conversion."""
        function: Any = self._functions[name]
        while isinstance(function, partial):
            function = cast("partial[object]", function).func
        return self._modules.get(name, str(function.__module__)).rpartition(".")[2]


@dataclass(frozen=True)
class ForeignCall:
    """A call with arguments as values of `graph`, and the point of insertion."""

    op: ForeignOp
    at: Formula

    def tensor(self, name: str) -> Value:
        """An operand."""
        value = self.op.tensor(name)
        assert value is not None
        return self.at.value(value)

    def optional(self, name: str) -> Value | None:
        """An operand that may be absent."""
        value = self.op.tensor(name)
        return None if value is None else self.tensor(name)

    def tensors(self, name: str) -> list[Value]:
        """The operands of a list, all of them given."""
        return [self.at.value(cast(SSAValue, value)) for value in self.op.tensors(name)]

    def has(self, name: str) -> bool:
        """Whether the operator has an argument."""
        return name in self.op.SIGNATURE.by_name

    def value(self, name: str) -> Argument:
        """An argument that is no operand; None where the operator does not have it."""
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
        """A truth value; false where the operator does not have the argument."""
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
