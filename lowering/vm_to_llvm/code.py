"""A builder of `llvm` ops for one native function, with the calls of what all functions share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, SymbolRefAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects.llvm.calls import call_pointer, call_symbol
from stepwell.dialects.llvm.instructions import ZeroOp
from stepwell.runtime.vm.native_abi import ARGUMENTS, WORD_BYTES, Failure, Field

PTR = llvm.LLVMPointerType()
I1, I8 = IntegerType(1), IntegerType(8)
ENTRY_TYPE = llvm.LLVMFunctionType([PTR] * (1 + ARGUMENTS), PTR)
"""The type of native functions: context and arguments to the result."""
_VOID = llvm.LLVMVoidType()
SHARED = {
    "vm.allocate": llvm.LLVMFunctionType([PTR, i64, i64], PTR),
    "vm.elements": llvm.LLVMFunctionType([PTR], PTR),
    "vm.fail": llvm.LLVMFunctionType([PTR, i64, i64, i64], _VOID),
    "vm.field": llvm.LLVMFunctionType([PTR, i64], PTR),
    "vm.has_type": llvm.LLVMFunctionType([PTR, PTR, i64], I1),
    "vm.head": llvm.LLVMFunctionType([PTR, i32, i32, i32], _VOID),
    "vm.is_kind": llvm.LLVMFunctionType([PTR, i32], I1),
    "vm.is_of_type": llvm.LLVMFunctionType([PTR, PTR], I1),
    "vm.make_tensor": llvm.LLVMFunctionType([PTR, PTR, i64, i64, i64], PTR),
    "vm.release": llvm.LLVMFunctionType([PTR, PTR], _VOID),
    "vm.retain": llvm.LLVMFunctionType([PTR], _VOID),
    "vm.tag": llvm.LLVMFunctionType([PTR], i64),
    "vm.tensor": llvm.LLVMFunctionType([PTR, i64, i64, i64, i64], PTR),
    "vm.trace": llvm.LLVMFunctionType([PTR, i64], _VOID),
}
"""The functions of `objects.py` by name."""
_MUST_TAIL = llvm.TailCallKindAttr(llvm.TailCallKind.MUST_TAIL)
_NO_FLAGS = IntegerAttr(0, i32)
_ORDINARY: Mapping[str, Attribute] = {"ordering": IntegerAttr(0, i64)}
_MONOTONIC = IntegerAttr(2, i64)


class NativeCode:
    """The ops of a function; the first block has its stack variables."""

    def __init__(self, name: str):
        self.entry = Block(arg_types=ENTRY_TYPE.inputs.data)
        self.ctx, *self.arguments = self.entry.args
        self.function = llvm.FuncOp(name, ENTRY_TYPE, llvm.LinkageAttr("external"), body=Region([self.entry]))
        self._block = self.entry

    # Ops.

    def add(self, op: Operation) -> Operation:
        """Append an op."""
        self._block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Append an op; its result."""
        return self.add(op).results[0]

    @property
    def current(self) -> Block:
        """The block that ops are appended to."""
        return self._block

    def open(self, block: Block) -> None:
        """Go on in a block, at the end of the function where it is new."""
        if block.parent is None:
            self.function.body.add_block(block)
        self._block = block

    def integer(self, value: int, type: IntegerType = i64) -> SSAValue:
        """An integer constant."""
        properties = {"value": IntegerAttr(value, type)}
        return self.value(llvm.ConstantOp.create(result_types=[type], properties=properties))

    def null(self) -> SSAValue:
        """The null pointer."""
        return self.value(ZeroOp.create(result_types=[PTR]))

    def variable(self, type: Attribute, count: int = 1) -> SSAValue:
        """A variable on the stack. Only before the function's first instruction."""
        op = llvm.AllocaOp(self.integer(count), type, alignment=WORD_BYTES)
        return self.value(op)

    def load(
        self, pointer: SSAValue, type: Attribute = PTR, properties: Mapping[str, Attribute] = _ORDINARY
    ) -> SSAValue:
        """A load."""
        return self.value(
            llvm.LoadOp.create(operands=[pointer], result_types=[type], properties=dict(properties))
        )

    def store(self, value: SSAValue, pointer: SSAValue) -> None:
        """A store."""
        self.add(llvm.StoreOp.create(operands=[value, pointer], properties=dict(_ORDINARY)))

    def word(self, pointer: SSAValue, index: int, type: IntegerType = i64) -> SSAValue:
        """The address of 8 bytes by their position, or of an integer of another type."""
        op = llvm.GEPOp.create(
            operands=[pointer],
            result_types=[PTR],
            properties={
                "elem_type": type,
                "noWrapFlags": _NO_FLAGS,
                "rawConstantIndices": DenseArrayBase.from_list(i32, [index]),
            },
        )
        return self.value(op)

    def field(self, field: int, type: Attribute = PTR) -> SSAValue:
        """A field of the context."""
        return self.load(self.word(self.ctx, field), type)

    def address(self, pointer: SSAValue) -> SSAValue:
        """An address as an i64."""
        return self.value(llvm.PtrToIntOp.create(operands=[pointer], result_types=[i64]))

    def stack_limit(self) -> SSAValue:
        """The lowest address of the stack; another thread may write it to interrupt the call."""
        properties = {"ordering": _MONOTONIC, "alignment": IntegerAttr(WORD_BYTES, i64)}
        return self.load(self.word(self.ctx, Field.STACK_LIMIT), i64, properties)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """A comparison of integers, such as `eq`."""
        return self.value(llvm.ICmpOp(a, b, IntegerAttr(llvm.ICmpPredicateFlag(predicate).to_int(), i64)))

    def binary(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """The result of an integer op."""
        return self.value(op_type.create(operands=[a, b], result_types=[a.type]))

    # Control flow.

    def go_to(self, block: Block) -> None:
        """Jump."""
        self.add(llvm.BrOp(block))

    def branch(self, condition: SSAValue, then: Block, otherwise: Block) -> None:
        """Jump by a condition."""
        self.add(llvm.CondBrOp(condition, then, [], otherwise, []))

    def give_back(self, value: SSAValue) -> None:
        """Return from the function."""
        self.add(llvm.ReturnOp(value))

    def guard(self, is_good: SSAValue, failure: Failure, site: int, detail: SSAValue | None = None) -> None:
        """Go on where a condition holds; else the call fails."""
        good, bad = Block(), Block()
        self.branch(is_good, good, bad)
        self.open(bad)
        self.fail(failure, site, detail)
        self.open(good)

    def fail(self, failure: Failure, site: int, detail: SSAValue | None = None) -> None:
        """End the call with an error. Args: `detail` is an object or an i64."""
        if detail is None:
            detail = self.integer(0)
        elif detail.type == PTR:
            detail = self.address(detail)
        self.shared("vm.fail", [self.ctx, self.integer(failure), self.integer(site), detail])
        self.give_back(self.null())

    def expect(self, pointer: SSAValue, failure: Failure, site: int, detail: SSAValue | None = None) -> None:
        """Go on where an address is not null; else the call fails."""
        self.guard(self._is_there(pointer), failure, site, detail)

    def expect_result(self, result: SSAValue, site: int) -> None:
        """Go on where a call has a result; else its error passes this function."""
        good, bad = Block(), Block()
        self.branch(self._is_there(result), good, bad)
        self.open(bad)
        self.shared("vm.trace", [self.ctx, self.integer(site)])
        self.give_back(self.null())
        self.open(good)

    def _is_there(self, pointer: SSAValue) -> SSAValue:
        return self.compare("ne", self.address(pointer), self.integer(0))

    # Calls.

    def shared(self, name: str, arguments: Sequence[SSAValue]) -> SSAValue:
        """A call of a function of `SHARED`; its result, or without one its first argument."""
        output = SHARED[name].output
        result = None if isinstance(output, llvm.LLVMVoidType) else output
        op = self.add(call_symbol(SymbolRefAttr(name), arguments, result))
        return op.results[0] if op.results else arguments[0]

    def call(
        self, callee: str | SSAValue, arguments: Sequence[SSAValue], *, is_tail: bool = False
    ) -> SSAValue:
        """A call of a native function by its name or address, with as many arguments as it has."""
        passed = [self.ctx, *arguments[:ARGUMENTS]]
        if len(arguments) > ARGUMENTS:
            extra = self.field(Field.EXTRA)
            for index, argument in enumerate(arguments[ARGUMENTS:]):
                self.store(argument, self.word(extra, index))
        while len(passed) <= ARGUMENTS:
            passed.append(self.null())
        if isinstance(callee, str):
            op = call_symbol(SymbolRefAttr(callee), passed, PTR)
        else:
            op = call_pointer(callee, passed, PTR)
        if is_tail:
            op.properties["TailCallKind"] = _MUST_TAIL
        return self.value(op)

    def pointer_call(self, callee: SSAValue, arguments: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """The result of another function by its address."""
        return self.value(call_pointer(callee, arguments, result))

    def parameters(self, count: int) -> list[SSAValue]:
        """The arguments of the function itself; at its begin, before other calls overwrite them."""
        found: list[SSAValue] = list(self.arguments[:count])
        if count > ARGUMENTS:
            extra = self.field(Field.EXTRA)
            found += [self.load(self.word(extra, index)) for index in range(count - ARGUMENTS)]
        return found
