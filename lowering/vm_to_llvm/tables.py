"""The numbers and names of a program that its native functions use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stepwell.runtime.vm.instructions import Outputs, registers_read
from stepwell.runtime.vm.native_tables import entry_symbol, is_fixed, thunk_symbol, thunks_of, types_of
from stepwell.runtime.vm.program import Function, Program, Type


@dataclass(frozen=True)
class Tables:
    """The tables of a program."""

    program: Program

    @cached_property
    def types(self) -> dict[Type, int]:
        """The types of tensors by number."""
        return types_of(self.program)

    @cached_property
    def thunks(self) -> dict[tuple[int, int], int]:
        """Functions with numbers of captures, by number."""
        return thunks_of(self.program)

    @cached_property
    def fixed(self) -> list[bool]:
        """Whether native functions call a packed function themselves."""
        return [is_fixed(packed) for packed in self.program.packed]

    @cached_property
    def open(self) -> list[bool]:
        """Whether native functions call a packed function themselves where the runtime says so."""
        return [bool(p.inputs) and not p.is_host and not is_fixed(p) for p in self.program.packed]

    @cached_property
    def symbols(self) -> list[str]:
        """The names of native functions."""
        return [entry_symbol(self.program, number) for number in range(len(self.program.functions))]

    def thunk_symbol(self, function: int, captures: int) -> str:
        """The name of the entry of a closure."""
        return thunk_symbol(self.program, function, captures)

    def most_operands(self, function: Function) -> int:
        """The most operands of a call of a packed function, with one more for an arena."""
        most = 0
        for name, operands in function.code:
            if isinstance(outputs := operands[-1], Outputs):
                most = max(most, len(registers_read(name, operands)) + len(outputs.registers) + 1)
        return most
