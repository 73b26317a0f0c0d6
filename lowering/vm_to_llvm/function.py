"""One function of the machine as a native function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, SSAValue

from stepwell.dialects.llvm.instructions import SwitchOp
from stepwell.lowering.vm_to_llvm.code import I8, PTR, NativeCode
from stepwell.lowering.vm_to_llvm.liveness import liveness_of
from stepwell.lowering.vm_to_llvm.supported import kinds_before, written_integers
from stepwell.lowering.vm_to_llvm.tables import Tables
from stepwell.runtime.vm.flow import ENDS
from stepwell.runtime.vm.instructions import ConstructorOf, Outputs, targets_of
from stepwell.runtime.vm.native_abi import (
    DATA_HEAD_BYTES,
    SEGMENT_WORDS,
    WORD_BYTES,
    Failure,
    Field,
    Kind,
    constructor_code,
    size_class,
)
from stepwell.runtime.vm.native_tables import data_bytes, tensor_block
from stepwell.runtime.vm.program import Function

_CALLING = ("invoke", "invoke_closure", "tail_invoke", "tail_invoke_closure")


class NativeFunction:
    """
    The code of a function: a register is a variable on the stack, which LLVM makes a register of the machine.

    A variable has one reference to its object. The last use of a register passes it on, or drops it; a use
    before that adds one where an object keeps the value.
    """

    def __init__(self, number: int, tables: Tables):
        self._number, self._tables = number, tables
        self._function: Function = tables.program.functions[number]
        self._liveness = liveness_of(self._function)
        self._kinds = kinds_before(self._function)[0]
        """The registers of machine integers before each instruction, as bits."""
        self._code = NativeCode(tables.symbols[number])
        self._pc = 0

    def made(self) -> llvm.FuncOp:
        """The function."""
        code, function = self._code, self._function
        self._registers = [code.variable(PTR) for _ in range(function.registers)]
        ever = reduce(or_, self._kinds, written_integers(function))
        self._integers = {n: code.variable(i64) for n in range(function.registers) if ever >> n & 1}
        self._marker = code.variable(I8)
        self._operands = code.variable(PTR, max(1, self._tables.most_operands(function)))
        for register, argument in enumerate(code.parameters(function.parameters)):
            code.store(argument, self._registers[register])
        if any(each.name in _CALLING for each in function.code):
            self._check_stack(0)
        self._drop(self._liveness.unused)
        starts = {0} | {pc + 1 for pc, each in enumerate(function.code[:-1]) if each.name in ENDS}
        starts |= {target for each in function.code for target in targets_of(*each)}
        self._blocks: dict[int, Block] = {start: code.new_block() for start in sorted(starts)}
        code.go_to(self._blocks[0])
        for pc, (name, operands) in enumerate(function.code):
            if pc in self._blocks:
                code.open(self._blocks[pc])
            self._pc = pc
            self._EMITTERS[name](self, *operands)
            if name not in ENDS:
                self._drop(self._liveness.unread[pc] & ~self._kinds[pc + 1])
                if pc + 1 in self._blocks:
                    code.go_to(self._blocks[pc + 1])
        return code.function

    # Registers.

    @property
    def _site(self) -> int:
        return self._number << 32 | self._pc

    def _is_last(self, register: int) -> bool:
        return bool(self._liveness.last_reads[self._pc] >> register & 1)

    def _is_integer(self, register: int) -> bool:
        return bool(self._kinds[self._pc] >> register & 1)

    def _get(self, register: int) -> SSAValue:
        return self._code.load(self._registers[register])

    def _get_integer(self, register: int) -> SSAValue:
        return self._code.load(self._integers[register], i64)

    def _set(self, register: int, value: SSAValue) -> None:
        self._code.store(value, self._registers[register])

    def _take(self, registers: Sequence[int]) -> list[SSAValue]:
        """The values of registers with a reference each, for what keeps them."""
        values = [self._get(register) for register in registers]
        passed: set[int] = set()
        for register, value in zip(registers, values, strict=True):
            if self._is_last(register) and register not in passed:
                passed.add(register)
            else:
                self._code.shared("vm.retain", [value])
        return values

    def _drop(self, registers: int) -> None:
        """Release the values of registers, given as bits."""
        for register in range(registers.bit_length()):
            if registers >> register & 1:
                self._release(self._get(register))

    def _drop_last(self, registers: Sequence[int]) -> None:
        """Release the values of registers that the instruction is the last to read."""
        bits = 0
        for register in registers:
            bits |= 1 << register
        self._drop(bits & self._liveness.last_reads[self._pc] & ~self._kinds[self._pc])

    def _release(self, value: SSAValue) -> None:
        self._code.shared("vm.release", [self._code.ctx, value])

    # Checks.

    def _check_stack(self, pc: int) -> None:
        """Fail where the stack or fuel is used up, or the call is interrupted."""
        code, site = self._code, self._number << 32 | pc
        here = code.address(self._marker)
        is_inside = code.compare("ugt", here, code.stack_limit())
        code.guard(is_inside, Failure.STACK, site)
        slot = code.word(code.ctx, Field.FUEL)
        left = code.binary(llvm.SubOp, code.load(slot, i64), code.integer(1))
        code.store(left, slot)
        code.guard(code.compare("sgt", left, code.integer(0)), Failure.STACK, site)

    def _expect_kind(self, value: SSAValue, kind: Kind) -> None:
        code = self._code
        is_good = code.shared("vm.is_kind", [value, code.integer(kind, i32)])
        code.guard(is_good, Failure.WRONG_KIND, self._site, value)

    def _expect_type(self, value: SSAValue, type: int) -> None:
        code = self._code
        is_good = code.shared("vm.has_type", [code.ctx, value, code.integer(type)])
        code.guard(is_good, Failure.WRONG_KIND, self._site, value)

    def _is_true(self, condition: int) -> SSAValue:
        code, value = self._code, self._get(condition)
        self._expect_type(value, 0)
        loaded = code.load(code.shared("vm.elements", [value]), I8)
        self._drop_last([condition])
        return code.compare("ne", loaded, code.integer(0, I8))

    # Control flow.

    def _target(self, pc: int) -> Block:
        """The block to jump to, after what this jump leaves behind is released."""
        left = self._liveness.entered.get((self._pc, pc), 0) & ~self._kinds[self._pc]
        if not left and pc > self._pc:
            return self._blocks[pc]
        code, edge, here = self._code, self._code.new_block(), self._code.current
        code.open(edge)
        self._drop(left)
        if pc <= self._pc:
            self._check_stack(self._pc)
        code.go_to(self._blocks[pc])
        code.open(here)
        return edge

    def _goto(self, target: int) -> None:
        self._code.go_to(self._target(target))

    def _if(self, condition: int, then: int, otherwise: int) -> None:
        truth = self._is_true(condition)
        self._code.branch(truth, self._target(then), self._target(otherwise))

    def _switch(self, tag: int, targets: Sequence[int]) -> None:
        code, value = self._code, self._get_integer(tag)
        blocks = [self._target(target) for target in targets]
        bad, here = code.new_block(), code.current
        code.open(bad)
        code.fail(Failure.WRONG_KIND, self._site)
        code.open(here)
        cases = [(number, block, ()) for number, block in enumerate(blocks)]
        code.add(SwitchOp(value, (bad, ()), cases))

    def _ret(self, value: int) -> None:
        self._code.give_back(self._take([value])[0])

    def _fatal(self, *failure: str) -> None:
        self._code.fail(Failure.STATED, self._site)

    def _check(self, condition: int, *failure: str) -> None:
        self._code.guard(self._is_true(condition), Failure.STATED, self._site)

    # Values.

    def _move(self, to: int, value: int) -> None:
        if self._is_integer(value):
            self._code.store(self._get_integer(value), self._integers[to])
        else:
            self._set(to, self._take([value])[0])

    def _kill(self, value: int) -> None:
        self._drop_last([value])

    def _load_const(self, to: int, constant: int) -> None:
        code = self._code
        value = code.load(code.word(code.field(Field.CONSTANTS), constant))
        code.shared("vm.retain", [value])
        self._set(to, value)

    def _load_consti(self, to: int, value: int) -> None:
        self._code.store(self._code.integer(value), self._integers[to])

    def _get_tag(self, to: int, value: int) -> None:
        code, found = self._code, self._get(value)
        tag = code.shared("vm.tag", [found])
        code.guard(code.compare("ne", tag, code.integer(-1)), Failure.WRONG_KIND, self._site, found)
        self._drop_last([value])
        code.store(tag, self._integers[to])

    def _get_field(self, to: int, value: int, index: int) -> None:
        code, found = self._code, self._get(value)
        field = code.shared("vm.field", [found, code.integer(index)])
        code.expect(field, Failure.BAD_FIELD, self._site, found)
        self._drop_last([value])
        self._set(to, field)

    def _alloc_adt(self, to: int, constructor: ConstructorOf, fields: Sequence[int]) -> None:
        made = self._new(Kind.DATA, constructor_code(constructor), len(fields), 0)
        for index, value in enumerate(self._take(fields)):
            self._code.store(value, self._code.word(made, 2 + index))
        self._set(to, made)

    def _alloc_closure(self, to: int, callee: int, captures: Sequence[int]) -> None:
        code, number = self._code, self._tables.thunks[callee, len(captures)]
        given = self._tables.program.functions[callee].parameters - len(captures)
        made = self._new(Kind.CLOSURE, number | given << 16, len(captures), 1)
        code.store(code.load(code.word(code.field(Field.THUNKS), number)), code.word(made, 2))
        for index, value in enumerate(self._take(captures)):
            code.store(value, code.word(made, 3 + index))
        self._set(to, made)

    def _new(self, kind: Kind, tag: int, fields: int, words: int) -> SSAValue:
        """A new object. Args: `words` are those between its head and its fields."""
        code = self._code
        number, size = size_class(DATA_HEAD_BYTES + (words + fields) * WORD_BYTES)
        made = code.shared("vm.allocate", [code.ctx, code.integer(number), code.integer(size)])
        code.expect(made, Failure.OUT_OF_MEMORY, self._site)
        head = (tag, fields, kind | number << 8)
        code.shared("vm.head", [made, *(code.integer(part, i32) for part in head)])
        return made

    def _new_ref(self, to: int, value: int) -> None:
        made = self._new(Kind.CELL, 0, 1, 0)
        self._code.store(self._take([value])[0], self._code.word(made, 2))
        self._set(to, made)

    def _read_ref(self, to: int, cell: int) -> None:
        code, found = self._code, self._get(cell)
        self._expect_kind(found, Kind.CELL)
        value = code.load(code.word(found, 2))
        code.shared("vm.retain", [value])
        self._drop_last([cell])
        self._set(to, value)

    def _write_ref(self, cell: int, value: int) -> None:
        code, found = self._code, self._get(cell)
        self._expect_kind(found, Kind.CELL)
        # A cell may be written into itself: it takes its new value before it is dropped.
        new = self._get(value)
        code.shared("vm.retain", [new])
        slot = code.word(found, 2)
        old = code.load(slot)
        code.store(new, slot)
        self._release(old)
        self._drop_last([cell, value])

    # Calls.

    def _invoke(self, to: int, callee: int, arguments: Sequence[int]) -> None:
        self._call(to, self._tables.symbols[callee], self._take(arguments))

    def _invoke_closure(self, to: int, closure: int, arguments: Sequence[int]) -> None:
        entry, values = self._closure(closure, arguments)
        self._call(to, entry, values)

    def _tail_invoke(self, callee: int, arguments: Sequence[int]) -> None:
        values = self._take(arguments)
        self._code.give_back(self._code.call(self._tables.symbols[callee], values, is_tail=True))

    def _tail_invoke_closure(self, closure: int, arguments: Sequence[int]) -> None:
        entry, values = self._closure(closure, arguments)
        self._code.give_back(self._code.call(entry, values, is_tail=True))

    def _closure(self, closure: int, arguments: Sequence[int]) -> tuple[SSAValue, list[SSAValue]]:
        """The entry of a function value, and what it is called with: itself first."""
        code, found = self._code, self._get(closure)
        self._expect_kind(found, Kind.CLOSURE)
        tag = code.load(code.word(found, 1, i32), i32)
        given = code.binary(llvm.LShrOp, tag, code.integer(16, i32))
        is_good = code.compare("eq", given, code.integer(len(arguments), i32))
        code.guard(is_good, Failure.WRONG_ARGUMENTS, self._site, found)
        return code.load(code.word(found, 2)), self._take([closure, *arguments])

    def _call(self, to: int, callee: str | SSAValue, values: Sequence[SSAValue]) -> None:
        code = self._code
        slot = code.word(code.ctx, Field.DEPTH)
        depth = code.binary(llvm.AddOp, code.load(slot, i64), code.integer(1))
        is_inside = code.compare("ule", depth, code.field(Field.MAX_DEPTH, i64))
        code.guard(is_inside, Failure.TOO_DEEP, self._site)
        code.store(depth, slot)
        result = code.call(callee, values)
        code.expect_result(result, self._site)
        code.store(code.binary(llvm.SubOp, code.load(slot, i64), code.integer(1)), slot)
        self._set(to, result)

    def _invoke_packed(self, callee: int, arguments: Sequence[int], outputs: Outputs) -> None:
        if self._tables.fixed[callee]:
            results = self._call_segment(callee, arguments)
        else:
            results = self._call_outside(callee, arguments, len(outputs.registers))
        self._drop_last(arguments)
        for register, result in zip(outputs.registers, results, strict=True):
            self._set(register, result)

    def _call_segment(self, callee: int, arguments: Sequence[int]) -> list[SSAValue]:
        """A call of a segment's code: operands are the addresses of elements, then its arena."""
        code, packed, types = self._code, self._tables.program.packed[callee], self._tables.types
        operands: list[SSAValue] = []
        for register, type in zip(arguments, packed.inputs, strict=True):
            value = self._get(register)
            self._expect_type(value, types[type])
            operands.append(code.shared("vm.elements", [value]))
        results: list[SSAValue] = []
        for type in packed.outputs:
            block = [types[type], *tensor_block(data_bytes(type))]
            made = code.shared("vm.tensor", [code.ctx, *map(code.integer, block)])
            code.expect(made, Failure.OUT_OF_MEMORY, self._site)
            results.append(made)
            operands.append(code.shared("vm.elements", [made]))
        row = code.word(code.field(Field.SEGMENTS), callee * SEGMENT_WORDS)
        entry, sizes, context, arena = (code.load(code.word(row, n)) for n in range(SEGMENT_WORDS))
        for index, operand in enumerate([*operands, arena]):
            code.store(operand, code.word(self._operands, index))
        status = code.pointer_call(entry, [self._operands, sizes, context], i32)
        is_good = code.compare("eq", status, code.integer(0, i32))
        code.guard(is_good, Failure.PACKED, self._site, self._detail(callee, status))
        return results

    def _call_outside(self, callee: int, arguments: Sequence[int], count: int) -> list[SSAValue]:
        """A call through the runtime, with objects; results are written after the arguments."""
        code = self._code
        for index, register in enumerate(arguments):
            code.store(self._get(register), code.word(self._operands, index))
        results = code.word(self._operands, len(arguments))
        values = [code.ctx, code.integer(callee), self._operands, results]
        status = code.pointer_call(code.field(Field.PACKED), values, i64)
        code.guard(
            code.compare("eq", status, code.integer(0)), Failure.PACKED, self._site, code.integer(callee)
        )
        return [code.load(code.word(results, index)) for index in range(count)]

    def _detail(self, callee: int, status: SSAValue) -> SSAValue:
        """A number and a status in one word."""
        code = self._code
        wide = code.value(llvm.SExtOp.create(operands=[status], result_types=[i64]))
        shifted = code.binary(llvm.ShlOp, wide, code.integer(32))
        return code.binary(llvm.OrOp, shifted, code.integer(callee))

    _EMITTERS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "move": _move,
        "ret": _ret,
        "invoke": _invoke,
        "invoke_closure": _invoke_closure,
        "invoke_packed": _invoke_packed,
        "alloc_adt": _alloc_adt,
        "alloc_closure": _alloc_closure,
        "get_field": _get_field,
        "if": _if,
        "load_const": _load_const,
        "goto": _goto,
        "get_tag": _get_tag,
        "load_consti": _load_consti,
        "fatal": _fatal,
        "kill": _kill,
        "tail_invoke": _tail_invoke,
        "tail_invoke_closure": _tail_invoke_closure,
        "switch": _switch,
        "new_ref": _new_ref,
        "read_ref": _read_ref,
        "write_ref": _write_ref,
        "check": _check,
    }


def thunk(callee: int, captures: int, tables: Tables) -> llvm.FuncOp:
    """The entry of closures of a function, which gets the closure and the arguments after its captures."""
    given = tables.program.functions[callee].parameters - captures
    code = NativeCode(tables.thunk_symbol(callee, captures))
    closure, *rest = code.parameters(1 + given)
    values = [code.load(code.word(closure, 3 + index)) for index in range(captures)]
    for value in values:
        code.shared("vm.retain", [value])
    code.shared("vm.release", [code.ctx, closure])
    code.give_back(code.call(tables.symbols[callee], [*values, *rest], is_tail=True))
    return code.function
