"""`Function`: a function that a program returned, which users can call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.objects import Closure, Tag, Value
from stepwell.runtime.vm.program import TUPLE, Program, Type
from stepwell.runtime.vm.program import Function as ProgramFunction


class Executor(Protocol):
    """The executor of a program: the machine, its native functions, or the interpreter."""

    @property
    def program(self) -> Program:
        """The program, of which data types and public functions matter here."""
        ...

    @property
    def tags(self) -> list[list[Tag]]:
        """The constructors, by the numbers of data types and tags."""
        ...

    def function(self, name: str) -> ProgramFunction:
        """A public function by its name. Raises: StepwellError `unknown-function`."""
        ...

    def call(self, name: str, *arguments: Value) -> Value:
        """The result of a public function. Raises: StepwellError."""
        ...

    def call_closure(self, closure: Closure, *arguments: Value) -> Value:
        """The result of a function value that a call returned. Raises: StepwellError."""
        ...


class Conversion(Protocol):
    """The conversions of the arguments and results of calls."""

    def argument(self, value: object, type: Type, name: str, sizes: dict[str, int]) -> Value:
        """A Python value as one of the machine."""
        ...

    def result(self, value: Value, type: Type) -> object:
        """A value of the machine as a Python value."""
        ...


def arguments_of(
    conversion: Conversion, values: Sequence[object], types: Sequence[Type], names: Sequence[str]
) -> list[Value]:
    """The arguments of a call. Raises: StepwellError `missing-input`, `extra-input`, `type-mismatch`, …"""
    if len(values) != len(types):
        message = f"expected {len(types)} arguments, found {len(values)}"
        raise StepwellError("missing-input" if len(values) < len(types) else "extra-input", None, message)
    sizes: dict[str, int] = {}
    given = zip(values, types, names, strict=True)
    return [conversion.argument(value, type, name, sizes) for value, type, name in given]


def results_of(conversion: Conversion, value: Value, types: Sequence[Type]) -> object:
    """The result of a call; several are one tuple of the machine. Raises: StepwellError `bad-bytecode`."""
    whole = types[0] if len(types) == 1 else Type(TUPLE, parts=tuple(types))
    return conversion.result(value, whole)


class Function:
    """A function value of a program: call it with Python values."""

    __slots__ = ("_conversion", "_machine", "closure", "type")

    def __init__(self, machine: Executor, closure: Closure, type: Type, conversion: Conversion):
        self._machine, self._conversion = machine, conversion
        self.closure = closure
        """The value in the machine."""
        self.type = type
        """The type of its arguments and results."""

    def belongs_to(self, machine: Executor) -> bool:
        """Whether a program may take it as an argument: a function belongs to the machine of its program."""
        return self._machine is machine

    def __call__(self, *arguments: object) -> object:
        """The result. Raises: StepwellError, as calling the model does."""
        inputs, outputs = (side.parts for side in self.type.parts)
        names = [f"input{number}" for number in range(len(inputs))]
        values = arguments_of(self._conversion, arguments, inputs, names)
        return results_of(self._conversion, self._machine.call_closure(self.closure, *values), outputs)

    def __repr__(self) -> str:
        return f"<Function {self.type}>"
