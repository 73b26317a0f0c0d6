"""The registers of a function as variables on the stack, with their references."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from stepwell.lowering.vm_to_llvm.code import I8, PTR, NativeCode
from stepwell.lowering.vm_to_llvm.liveness import liveness_of
from stepwell.lowering.vm_to_llvm.supported import kinds_before, written_integers
from stepwell.lowering.vm_to_llvm.tables import Tables
from stepwell.runtime.vm.native_abi import Failure, Field, Kind
from stepwell.runtime.vm.program import Function


class Registers:
    """
    The registers of a function: LLVM makes values of the variables.

    A variable has one reference to its object. The last use of a register passes it on, or drops it; a use
    before that adds one where an object keeps the value.
    """

    def __init__(self, number: int, tables: Tables):
        self.number, self.tables = number, tables
        self.function: Function = tables.program.functions[number]
        self.liveness = liveness_of(self.function)
        self.code = NativeCode(tables.symbols[number])
        self.pc = 0
        """The number of the instruction that is being lowered."""
        self._kinds = kinds_before(self.function)[0]
        count = self.function.registers
        self._values = [self.code.variable(PTR) for _ in range(count)]
        ever = reduce(lambda a, b: a | b, self._kinds, written_integers(self.function))
        self._integers = {n: self.code.variable(i64) for n in range(count) if ever >> n & 1}
        self._marker = self.code.variable(I8)
        self.operands = self.code.variable(PTR, max(1, tables.most_operands(self.function)))
        """The memory for the operands of segments."""
        for register, argument in enumerate(self.code.parameters(self.function.parameters)):
            self.set(register, argument)

    @property
    def site(self) -> int:
        """The function and instruction, for errors."""
        return self.number << 32 | self.pc

    def _is_last(self, register: int) -> bool:
        return bool(self.liveness.last_reads[self.pc] >> register & 1)

    def is_integer(self, register: int) -> bool:
        """Whether a register has a machine integer."""
        return bool(self._kinds[self.pc] >> register & 1)

    def get(self, register: int) -> SSAValue:
        """The object of a register."""
        return self.code.load(self._values[register])

    def get_integer(self, register: int) -> SSAValue:
        """The machine integer of a register."""
        return self.code.load(self._integers[register], i64)

    def set_integer(self, register: int, value: SSAValue) -> None:
        """Write a machine integer to a register."""
        self.code.store(value, self._integers[register])

    def set(self, register: int, value: SSAValue) -> None:
        """Write an object to a register, with a reference."""
        self.code.store(value, self._values[register])

    def take(self, registers: Sequence[int]) -> list[SSAValue]:
        """The values of registers with a reference each, for what keeps them."""
        values = [self.get(register) for register in registers]
        passed: set[int] = set()
        for register, value in zip(registers, values, strict=True):
            if self._is_last(register) and register not in passed:
                passed.add(register)
            else:
                self.code.shared("vm.retain", [value])
        return values

    def drop(self, registers: int) -> None:
        """Release the values of registers, given as bits."""
        for register in range(registers.bit_length()):
            if registers >> register & 1:
                self.release(self.get(register))

    def drop_last(self, registers: Sequence[int]) -> None:
        """Release the values of registers that the instruction is the last to read."""
        bits = 0
        for register in registers:
            bits |= 1 << register
        self.drop(bits & self.liveness.last_reads[self.pc] & ~self._kinds[self.pc])

    def drop_unread(self) -> None:
        """Release what the instruction wrote for nothing."""
        self.drop(self.liveness.unread[self.pc] & ~self._kinds[self.pc + 1])

    def left_behind(self, target: int) -> int:
        """The registers whose values end with a jump to an instruction, as bits."""
        return self.liveness.entered.get((self.pc, target), 0) & ~self._kinds[self.pc]

    def release(self, value: SSAValue) -> None:
        """Give up a reference."""
        self.code.shared("vm.release", [self.code.ctx, value])

    # Checks.

    def check_stack(self, pc: int) -> None:
        """Fail where the stack or fuel is used up, or the call is interrupted."""
        code, site = self.code, self.number << 32 | pc
        here = code.address(self._marker)
        is_inside = code.compare("ugt", here, code.stack_limit())
        code.guard(is_inside, Failure.STACK, site)
        slot = code.word(code.ctx, Field.FUEL)
        left = code.binary(llvm.SubOp, code.load(slot, i64), code.integer(1))
        code.store(left, slot)
        code.guard(code.compare("sgt", left, code.integer(0)), Failure.STACK, site)

    def expect_kind(self, value: SSAValue, kind: Kind) -> None:
        """Fail where an object is of another kind."""
        code = self.code
        is_good = code.shared("vm.is_kind", [value, code.integer(kind, i32)])
        code.guard(is_good, Failure.WRONG_KIND, self.site, value)

    def expect_type(self, value: SSAValue, type: int) -> None:
        """Fail where an object is no tensor of a type, by the number of the type."""
        code = self.code
        is_good = code.shared("vm.has_type", [code.ctx, value, code.integer(type)])
        code.guard(is_good, Failure.WRONG_KIND, self.site, value)

    def is_true(self, condition: int) -> SSAValue:
        """Whether a register has a true bool scalar, as an i1."""
        code, value = self.code, self.get(condition)
        self.expect_type(value, 0)
        loaded = code.load(code.shared("vm.elements", [value]), I8)
        self.drop_last([condition])
        return code.compare("ne", loaded, code.integer(0, I8))
