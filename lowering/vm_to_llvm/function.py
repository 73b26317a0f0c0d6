"""Functions of the machine as native functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, SSAValue

from stepwell.dialects.llvm.instructions import SwitchOp
from stepwell.lowering.vm_to_llvm.code import NativeCode
from stepwell.lowering.vm_to_llvm.segment_calls import SegmentCalls
from stepwell.lowering.vm_to_llvm.tables import Tables
from stepwell.runtime.vm.flow import ENDS
from stepwell.runtime.vm.instructions import ConstructorOf, targets_of
from stepwell.runtime.vm.native_abi import (
    DATA_HEAD_BYTES,
    WORD_BYTES,
    Failure,
    Field,
    Kind,
    constructor_code,
    size_class,
)

_CALLING = ("invoke", "invoke_closure", "tail_invoke", "tail_invoke_closure")


class NativeFunction(SegmentCalls):
    """The code of a function."""

    def made(self) -> llvm.FuncOp:
        """The function."""
        code, function = self.code, self.function
        if any(each.name in _CALLING for each in function.code):
            self.check_stack(0)
        self.drop(self.liveness.unused)
        starts = {0} | {pc + 1 for pc, each in enumerate(function.code[:-1]) if each.name in ENDS}
        starts |= {target for each in function.code for target in targets_of(*each)}
        self._blocks = {start: Block() for start in sorted(starts)}
        code.go_to(self._blocks[0])
        for pc, (name, operands) in enumerate(function.code):
            if pc in self._blocks:
                code.open(self._blocks[pc])
            self.pc = pc
            self.EMITTERS[name](self, *operands)
            if name not in ENDS:
                self.drop_unread()
                if pc + 1 in self._blocks:
                    code.go_to(self._blocks[pc + 1])
        return code.function

    # Control flow.

    def _target(self, pc: int) -> Block:
        """The block to jump to, after what this jump leaves behind is released."""
        left = self.left_behind(pc)
        if not left and pc > self.pc:
            return self._blocks[pc]
        code, edge, here = self.code, Block(), self.code.current
        code.open(edge)
        self.drop(left)
        if pc <= self.pc:
            self.check_stack(self.pc)
        code.go_to(self._blocks[pc])
        code.open(here)
        return edge

    def _goto(self, target: int) -> None:
        self.code.go_to(self._target(target))

    def _if(self, condition: int, then: int, otherwise: int) -> None:
        truth = self.is_true(condition)
        self.code.branch(truth, self._target(then), self._target(otherwise))

    def _switch(self, tag: int, targets: Sequence[int]) -> None:
        code, value = self.code, self.get_integer(tag)
        blocks = [self._target(target) for target in targets]
        bad, here = Block(), code.current
        code.open(bad)
        code.fail(Failure.WRONG_KIND, self.site)
        code.open(here)
        cases = [(number, block, ()) for number, block in enumerate(blocks)]
        code.add(SwitchOp(value, (bad, ()), cases))

    def _ret(self, value: int) -> None:
        self.code.give_back(self.take([value])[0])

    def _fatal(self, *failure: str) -> None:
        self.code.fail(Failure.STATED, self.site)

    def _check(self, condition: int, *failure: str) -> None:
        self.code.guard(self.is_true(condition), Failure.STATED, self.site)

    # Values.

    def _move(self, to: int, value: int) -> None:
        if self.is_integer(value):
            self.set_integer(to, self.get_integer(value))
        else:
            self.set(to, self.take([value])[0])

    def _kill(self, value: int) -> None:
        self.drop_last([value])

    def _load_const(self, to: int, constant: int) -> None:
        code = self.code
        value = code.load(code.word(code.field(Field.CONSTANTS), constant))
        code.shared("vm.retain", [value])
        self.set(to, value)

    def _load_consti(self, to: int, value: int) -> None:
        self.set_integer(to, self.code.integer(value))

    def _get_tag(self, to: int, value: int) -> None:
        code, found = self.code, self.get(value)
        tag = code.shared("vm.tag", [found])
        code.guard(code.compare("ne", tag, code.integer(-1)), Failure.WRONG_KIND, self.site, found)
        self.drop_last([value])
        self.set_integer(to, tag)

    def _get_field(self, to: int, value: int, index: int) -> None:
        code, found = self.code, self.get(value)
        field = code.shared("vm.field", [found, code.integer(index)])
        code.expect(field, Failure.BAD_FIELD, self.site, found)
        self.drop_last([value])
        self.set(to, field)

    def _alloc_adt(self, to: int, constructor: ConstructorOf, fields: Sequence[int]) -> None:
        made = self._new(Kind.DATA, constructor_code(constructor), len(fields), 0)
        for index, value in enumerate(self.take(fields)):
            self.code.store(value, self.code.word(made, 2 + index))
        self.set(to, made)

    def _alloc_closure(self, to: int, callee: int, captures: Sequence[int]) -> None:
        code, number = self.code, self.tables.thunks[callee, len(captures)]
        given = self.tables.program.functions[callee].parameters - len(captures)
        made = self._new(Kind.CLOSURE, number | given << 16, len(captures), 1)
        code.store(code.load(code.word(code.field(Field.THUNKS), number)), code.word(made, 2))
        for index, value in enumerate(self.take(captures)):
            code.store(value, code.word(made, 3 + index))
        self.set(to, made)

    def _new(self, kind: Kind, tag: int, fields: int, words: int) -> SSAValue:
        """A new object. Args: `words` are those between its head and its fields."""
        code = self.code
        number, size = size_class(DATA_HEAD_BYTES + (words + fields) * WORD_BYTES)
        made = code.shared("vm.allocate", [code.ctx, code.integer(number), code.integer(size)])
        code.expect(made, Failure.OUT_OF_MEMORY, self.site)
        head = (tag, fields, kind | number << 8)
        code.shared("vm.head", [made, *(code.integer(part, i32) for part in head)])
        return made

    def _new_ref(self, to: int, value: int) -> None:
        made = self._new(Kind.CELL, 0, 1, 0)
        self.code.store(self.take([value])[0], self.code.word(made, 2))
        self.set(to, made)

    def _read_ref(self, to: int, cell: int) -> None:
        code, found = self.code, self.get(cell)
        self.expect_kind(found, Kind.CELL)
        value = code.load(code.word(found, 2))
        code.shared("vm.retain", [value])
        self.drop_last([cell])
        self.set(to, value)

    def _write_ref(self, cell: int, value: int) -> None:
        code, found = self.code, self.get(cell)
        self.expect_kind(found, Kind.CELL)
        # A cell may be written into itself: it takes its new value before it is dropped.
        new = self.get(value)
        code.shared("vm.retain", [new])
        slot = code.word(found, 2)
        old = code.load(slot)
        code.store(new, slot)
        self.release(old)
        self.drop_last([cell, value])

    # Calls.

    def _invoke(self, to: int, callee: int, arguments: Sequence[int]) -> None:
        self._call(to, self.tables.symbols[callee], self.take(arguments))

    def _invoke_closure(self, to: int, closure: int, arguments: Sequence[int]) -> None:
        entry, values = self._closure(closure, arguments)
        self._call(to, entry, values)

    def _tail_invoke(self, callee: int, arguments: Sequence[int]) -> None:
        values = self.take(arguments)
        self.code.give_back(self.code.call(self.tables.symbols[callee], values, is_tail=True))

    def _tail_invoke_closure(self, closure: int, arguments: Sequence[int]) -> None:
        entry, values = self._closure(closure, arguments)
        self.code.give_back(self.code.call(entry, values, is_tail=True))

    def _closure(self, closure: int, arguments: Sequence[int]) -> tuple[SSAValue, list[SSAValue]]:
        """The entry of a function value, and what it is called with: itself first."""
        code, found = self.code, self.get(closure)
        self.expect_kind(found, Kind.CLOSURE)
        tag = code.load(code.word(found, 1, i32), i32)
        given = code.binary(llvm.LShrOp, tag, code.integer(16, i32))
        is_good = code.compare("eq", given, code.integer(len(arguments), i32))
        code.guard(is_good, Failure.WRONG_ARGUMENTS, self.site, found)
        return code.load(code.word(found, 2)), self.take([closure, *arguments])

    def _call(self, to: int, callee: str | SSAValue, values: Sequence[SSAValue]) -> None:
        code = self.code
        slot = code.word(code.ctx, Field.DEPTH)
        depth = code.binary(llvm.AddOp, code.load(slot, i64), code.integer(1))
        is_inside = code.compare("ule", depth, code.field(Field.MAX_DEPTH, i64))
        code.guard(is_inside, Failure.TOO_DEEP, self.site)
        code.store(depth, slot)
        result = code.call(callee, values)
        code.expect_result(result, self.site)
        code.store(code.binary(llvm.SubOp, code.load(slot, i64), code.integer(1)), slot)
        self.set(to, result)

    EMITTERS: ClassVar[Mapping[str, Callable[..., None]]] = {
        "move": _move,
        "ret": _ret,
        "invoke": _invoke,
        "invoke_closure": _invoke_closure,
        "invoke_packed": SegmentCalls.invoke_packed,
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
    """The methods that write an instruction's code, for those of `SUPPORTED`."""


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
