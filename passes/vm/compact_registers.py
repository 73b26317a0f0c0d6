"""`compact-registers`: registers whose values are never needed at once become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects.vm import VmFuncOp
from stepwell.dialects.vm.instructions import InstructionOp, number, numbers_of, registers
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.passes.vm.dead_values import kill_before_calls
from stepwell.passes.vm.liveness import LiveRegisters, bits_of, registers_in
from stepwell.runtime.vm.instructions import Kind


@dataclass(frozen=True)
class CompactRegistersPass(Pass):
    """
    Give registers new numbers, so that a function has few: frames are smaller, and values are freed early.

    ```mlir
    vm.func private @second (1) registers 4 {
      vm.get_field r1, r0 [1]
      vm.get_field r2, r1 [0]
      vm.move r3, r2
      vm.ret r3
    }
    ```
    becomes
    ```mlir
    vm.func private @second (1) registers 1 {
      vm.get_field r0, r0 [1]
      vm.get_field r0, r0 [0]
      vm.ret r0
    }
    ```
    Registers that have values at the same time stay apart, parameters where they are. Moves between registers
    that become one are erased. A value that nothing reads any more, and that a frame would keep during a
    call, is given up before it by `vm.kill`. Class: exact.
    Source: Chaitin et al., "Register allocation via coloring" (1981), in the order of the text.
    """

    name = "compact-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, VmFuncOp):
                _compact(function)
                kill_before_calls(function)


def _compact(function: VmFuncOp) -> None:
    parameters, before = function.counts
    numbers = _Coloring(function).numbers()
    after = max(parameters, *(each + 1 for each in numbers.values()), 0)
    for op in _instructions(function):
        _renumber(op, numbers)
        if op.name == "vm.move" and op.properties["to"] == op.properties["value"]:
            Rewriter.erase_op(op)
            count("moves erased")
    function.properties["registers"] = number(after)
    count("registers saved", before - after)


def _instructions(function: VmFuncOp) -> Iterator[InstructionOp]:
    for block in function.body.blocks:
        yield from (op for op in list(block.ops) if isinstance(op, InstructionOp))


def _renumber(op: InstructionOp, numbers: Mapping[int, int]) -> None:
    """Put other registers into an instruction."""
    for field in op.register_fields:
        found = [numbers[each] for each in numbers_of(op.properties[field.name])]
        value: Attribute = registers(found) if field.kind in (Kind.USES, Kind.OUTPUTS) else number(found[0])
        op.properties[field.name] = value


class _Coloring:
    """The numbers of a function's registers, chosen one after the other."""

    def __init__(self, function: VmFuncOp):
        self._function = function
        self._apart: dict[int, int] = {}
        """Maps each register to those that have values at the same time, as bits."""
        self._moved: dict[int, set[int]] = {}
        """Maps each register to those that it is copied to or from."""
        live = LiveRegisters.of(function)
        for op in _instructions(function):
            self._add(op, live.after[op])

    def _add(self, op: Operation, after: int) -> None:
        """Note the registers in conflict with the results of an instruction."""
        assert isinstance(op, InstructionOp)
        for register in (*op.registers_read, *op.registers_written):
            self._apart.setdefault(register, 0)
        written = bits_of(op.registers_written)
        source = 0
        if op.name == "vm.move":
            (value,), (to,) = op.registers_read, op.registers_written
            self._moved.setdefault(value, set()).add(to)
            self._moved.setdefault(to, set()).add(value)
            source = 1 << value  # both have one value, also where both are needed after
        for register in op.registers_written:
            others = (after | written) & ~source & ~(1 << register)
            self._apart[register] |= others
            for other in registers_in(others):
                self._apart[other] = self._apart.get(other, 0) | 1 << register

    def numbers(self) -> dict[int, int]:
        """The new number of each register that is used, parameters as before."""
        found = {register: register for register in range(self._function.counts[0])}
        for register in self._apart:
            if register not in found:
                taken = {found[other] for other in registers_in(self._apart[register]) if other in found}
                found[register] = _first_free(taken, self._wanted(register, found))
        return found

    def _wanted(self, register: int, found: Mapping[int, int]) -> Iterable[int]:
        """The numbers with which a move goes away."""
        return [found[other] for other in sorted(self._moved.get(register, ())) if other in found]


def _first_free(taken: set[int], wanted: Iterable[int]) -> int:
    for choice in wanted:
        if choice not in taken:
            return choice
    return next(choice for choice in range(len(taken) + 1) if choice not in taken)
