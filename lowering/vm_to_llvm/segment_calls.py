"""Calls of segments and functions of the host by native functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block, SSAValue

from stepwell.lowering.vm_to_llvm.registers import Registers
from stepwell.runtime.vm.instructions import Outputs
from stepwell.runtime.vm.native_abi import OPEN, OUTPUT_WORDS, PREPARE, SEGMENT_WORDS, Failure, Field
from stepwell.runtime.vm.native_tables import data_bytes, tensor_block


class SegmentCalls(Registers):
    """
    The calls of a function: of a segment's code where the sizes of all its tensors are numbers; with open
    sizes of the code too, once the runtime has prepared it for the types of the arguments; else through the
    runtime.
    """

    def invoke_packed(self, callee: int, arguments: Sequence[int], outputs: Outputs) -> None:
        """The instruction."""
        count = len(outputs.registers)
        if self.tables.fixed[callee]:
            results = self._call_fixed(callee, arguments)
        elif self.tables.open[callee]:
            results = self._call_open(callee, arguments, count)
        else:
            results = self._call_outside(callee, arguments, count)
        self.drop_last(arguments)
        for register, result in zip(outputs.registers, results, strict=True):
            self.set(register, result)

    def _call_fixed(self, callee: int, arguments: Sequence[int]) -> list[SSAValue]:
        code, packed, types = self.code, self.tables.program.packed[callee], self.tables.types
        objects: list[SSAValue] = []
        for register, type in zip(arguments, packed.inputs, strict=True):
            objects.append(self.get(register))
            self.expect_type(objects[-1], types[type])
        results: list[SSAValue] = []
        for type in packed.outputs:
            block = [types[type], *tensor_block(data_bytes(type))]
            made = code.shared("vm.tensor", [code.ctx, *map(code.integer, block)])
            code.expect(made, Failure.OUT_OF_MEMORY, self.site)
            results.append(made)
        self._call_code(callee, [*objects, *results])
        return results

    def _call_code(self, callee: int, objects: Sequence[SSAValue]) -> None:
        """A call of a segment's code: operands are the addresses of elements, then its arena."""
        code = self.code
        operands = [code.shared("vm.elements", [each]) for each in objects]
        row = code.word(code.field(Field.SEGMENTS), callee * SEGMENT_WORDS)
        entry, sizes, context, arena = (code.load(code.word(row, n)) for n in range(SEGMENT_WORDS))
        for index, operand in enumerate([*operands, arena]):
            code.store(operand, code.word(self.operands, index))
        status = code.pointer_call(entry, [self.operands, sizes, context], i32)
        is_good = code.compare("eq", status, code.integer(0, i32))
        code.guard(is_good, Failure.PACKED, self.site, self._detail(callee, status))

    def _call_open(self, callee: int, arguments: Sequence[int], count: int) -> list[SSAValue]:
        """A call with open sizes: of the code where there is a row for it, else through the runtime."""
        code, direct, outside, joined = self.code, Block(), Block(), Block()
        row = code.load(code.word(code.field(OPEN), callee))
        slots = [code.word(self.operands, len(arguments) + index) for index in range(count)]
        code.branch(code.compare("ne", code.address(row), code.integer(0)), direct, outside)
        code.open(outside)
        self._call_outside(callee, arguments, count)
        code.go_to(joined)
        code.open(direct)
        objects = [self.get(register) for register in arguments]
        self._prepare(callee, row, objects)
        results = [self._output(row, len(objects) + OUTPUT_WORDS * index) for index in range(count)]
        self._call_code(callee, [*objects, *results])
        for slot, result in zip(slots, results, strict=True):
            code.store(result, slot)
        code.go_to(joined)
        code.open(joined)
        return [code.load(slot) for slot in slots]

    def _prepare(self, callee: int, row: SSAValue, objects: Sequence[SSAValue]) -> None:
        """Let the runtime prepare a segment, unless its row is for the types of the arguments."""
        code, prepare, ready = self.code, Block(), Block()
        types = [code.load(code.word(row, index)) for index in range(len(objects))]
        pairs = zip(objects, types, strict=True)
        same = [code.shared("vm.is_of_type", [value, type]) for value, type in pairs]
        code.branch(reduce(lambda a, b: code.binary(llvm.AndOp, a, b), same), ready, prepare)
        code.open(prepare)
        for index, value in enumerate(objects):
            code.store(value, code.word(self.operands, index))
        status = code.pointer_call(code.field(PREPARE), [code.ctx, code.integer(callee), self.operands], i64)
        self._expect_success(callee, status)
        code.go_to(ready)
        code.open(ready)

    def _output(self, row: SSAValue, position: int) -> SSAValue:
        """A new tensor of the type that a row has."""
        code = self.code
        type = code.load(code.word(row, position))
        block = [code.load(code.word(row, position + n), i64) for n in range(1, OUTPUT_WORDS)]
        made = code.shared("vm.make_tensor", [code.ctx, type, *block])
        code.expect(made, Failure.OUT_OF_MEMORY, self.site)
        return made

    def _call_outside(self, callee: int, arguments: Sequence[int], count: int) -> list[SSAValue]:
        """A call through the runtime, with objects; results are written after the arguments."""
        code = self.code
        for index, register in enumerate(arguments):
            code.store(self.get(register), code.word(self.operands, index))
        results = code.word(self.operands, len(arguments))
        values = [code.ctx, code.integer(callee), self.operands, results]
        self._expect_success(callee, code.pointer_call(code.field(Field.PACKED), values, i64))
        return [code.load(code.word(results, index)) for index in range(count)]

    def _expect_success(self, callee: int, status: SSAValue) -> None:
        code = self.code
        is_good = code.compare("eq", status, code.integer(0))
        code.guard(is_good, Failure.PACKED, self.site, code.integer(callee))

    def _detail(self, callee: int, status: SSAValue) -> SSAValue:
        """A number and a status in 64 bits."""
        code = self.code
        wide = code.value(llvm.SExtOp.create(operands=[status], result_types=[i64]))
        shifted = code.binary(llvm.ShlOp, wide, code.integer(32))
        return code.binary(llvm.OrOp, shifted, code.integer(callee))
