"""Parts of a function's code: its constants, registers, and blocks of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation

from stepwell.dialects.constants import Constant
from stepwell.dialects.vm.instructions import OPS, number, registers


@dataclass
class Constants:
    """The table of constants of a module: equal ones are one row."""

    values: list[Constant] = field(default_factory=list[Constant])
    _rows: dict[Attribute, int] = field(default_factory=dict[Attribute, int])

    def row(self, value: Constant) -> int:
        """The row of a value."""
        if value not in self._rows:
            self._rows[value] = len(self.values)
            self.values.append(value)
        return self._rows[value]


@dataclass
class Code:
    """Blocks of instructions; instructions are appended to the last one."""

    location: LocationAttr
    blocks: list[Block] = field(default_factory=lambda: [Block()])
    registers: int = 0

    def new_register(self) -> int:
        """A register that nothing has been written to."""
        self.registers += 1
        return self.registers - 1

    def at(self, op: Operation) -> None:
        """Let the next instructions have the location of an op."""
        self.location = op.location

    def open(self, block: Block) -> None:
        """Append the next instructions to a block, after all others."""
        self.blocks.append(block)

    @property
    def is_open(self) -> bool:
        """Whether the last block has no jump or return yet."""
        last = self.blocks[-1].last_op
        return last is None or not last.successors and not _ENDS.get(last.name, False)

    def emit(self, instruction: str, *targets: Block, **operands: Attribute) -> None:
        """Append an instruction."""
        made = OPS[instruction].of(operands, targets)
        made.location = self.location
        self.blocks[-1].add_op(made)

    def load(self, row: int) -> int:
        """A new register with a constant."""
        register = self.new_register()
        self.emit("load_const", to=number(register), constant=number(row))
        return register

    def field(self, value: int, index: int) -> int:
        """A new register with a field of a data value or tuple."""
        register = self.new_register()
        self.emit("get_field", to=number(register), value=number(value), index=number(index))
        return register

    def tuple_of(self, fields: Sequence[int]) -> int:
        """A new register with a tuple."""
        register = self.new_register()
        self.emit("alloc_adt", to=number(register), fields=registers(fields))
        return register

    def move(self, to: int, value: int) -> None:
        """Copy a register."""
        if to != value:
            self.emit("move", to=number(to), value=number(value))

    def fail(self, code: str, message: str) -> None:
        """End the program with an error."""
        self.emit("fatal", code=StringAttr(code), message=StringAttr(message))


_ENDS = {f"vm.{name}": op.INSTRUCTION.is_terminator for name, op in OPS.items()}


def symbol(name: str, *nested: str) -> SymbolRefAttr:
    """A symbol as an operand."""
    return SymbolRefAttr(name, list(nested))
