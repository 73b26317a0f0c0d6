"""
`func` → `llvm`, with the binary interface of runtime/abi.py for kernels and `@main`.

A kernel is `i32 k(ptr args, ptr dims, ptr ctx)`: memrefs are loaded from `args`, index arguments from `dims`.
Other functions keep their arguments: memrefs become bare pointers, so their sizes must be static.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StringAttr,
    UnrealizedConversionCastOp,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.llvm import nvvm, rocdl
from stepwell.dialects.llvm.calls import call_symbol, segment_sizes
from stepwell.dialects.llvm.device import SIZE
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched import ALIGN
from stepwell.dialects.sched_kernel import KERNEL, symbols_of
from stepwell.dialects.sched_program import PROGRAM
from stepwell.dialects.types import DimsAttr, element_bytes
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.stack import CallArray
from stepwell.lowering.loops_to_llvm.state import (
    I32,
    I64,
    PTR,
    Extent,
    FunctionInfo,
    Layout,
    State,
    converted_type,
    has_kernel_abi,
)
from stepwell.runtime.abi import WORD_BYTES
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_KERNEL_TYPE = llvm.LLVMFunctionType([PTR, PTR, PTR], I32)
_KEPT = (
    KERNEL, PROGRAM, nvvm.KERNEL, nvvm.REQUIRED_THREADS, rocdl.KERNEL, rocdl.REQUIRED_THREADS,
)  # fmt: skip
_EXTERNAL, _INTERNAL = llvm.LinkageAttr("external"), llvm.LinkageAttr("internal")


class FunctionLowering(LoopsToLLVMPattern):
    """
    ```mlir
    func.func private @k(%x: memref<4xf32>, %N: index)
        attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 0, symbols = ["N"]>} { func.return }
    // ->
    llvm.func @k(%args: !llvm.ptr, %dims: !llvm.ptr, %ctx: !llvm.ptr) -> i32 {
      %x = llvm.load %args {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
      %N = llvm.load %dims {alignment = 8 : i64} : !llvm.ptr -> i64
      %ok = llvm.mlir.constant(0 : i32) : i32
      llvm.return %ok : i32
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.FuncOp, rewriter: PatternRewriter) -> None:
        """
        Move the body into an `llvm.func` with the kernel's interface, or with the function's own arguments.
        """
        kernel = has_kernel_abi(op)
        body = Region()
        op.body.move_blocks(body)
        type = _KERNEL_TYPE if kernel else _plain_type(op)
        hidden = not kernel and op.sym_visibility == StringAttr("private") and bool(body.blocks)
        new = llvm.FuncOp(
            op.sym_name, type, _INTERNAL if hidden else _EXTERNAL, body=body, extra_attrs=_kept(op.attributes)
        )
        info = FunctionInfo(None, kernel)
        self.state.functions[new] = info
        if (entry := body.first_block) is not None:
            arguments = _arguments(op)
            if kernel:
                info.context = self._enter_kernel(op, entry, arguments, rewriter)
            else:
                self._enter_plain(op, entry, arguments, rewriter)
        rewriter.replace(op, new, [])

    def _enter_kernel(
        self,
        op: func.FuncOp,
        entry: Block,
        attributes: Sequence[Mapping[str, Attribute]],
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """The context pointer; the kernel's arguments are loaded from its arrays at the function's entry."""
        old = tuple(entry.args)
        args, dims, context = (entry.insert_arg(PTR, index) for index in range(3))
        for value, name in ((args, "args"), (dims, "dims"), (context, "ctx")):
            value.name_hint = name
        code = Code(self.state, entry)
        # Sizes first: layouts of memrefs are made from them.
        symbols = self._load_symbols(op, old, dims, code)
        slots = [arg for arg in old if isinstance(arg.type, MemRefType)]
        for slot, arg in enumerate(slots):
            pointer = code.load(code.element_pointer(args, slot, PTR), PTR, WORD_BYTES)
            layout = self._argument_layout(op, arg, attributes[arg.index - 3], symbols, code)
            self.state.layouts[pointer] = layout
            _replace(arg, pointer)
        for arg in old:
            entry.erase_arg(arg)
        rewriter.insert(code.ops, InsertPoint.at_start(entry))
        return context

    def _load_symbols(
        self, op: func.FuncOp, arguments: Sequence[BlockArgument], dims: SSAValue, code: Code
    ) -> dict[str, SSAValue]:
        """The values of index arguments, loaded from `dims`, by the names of the function's symbols."""
        symbols = symbols_of(op)
        indices = [arg for arg in arguments if isinstance(arg.type, IndexType)]
        if len(indices) + sum(isinstance(arg.type, MemRefType) for arg in arguments) != len(arguments):
            raise StepwellError("unsupported", op, "a kernel takes memrefs and index values only")
        if len(symbols) != len(indices):
            message = f"a kernel names each index argument, found {len(symbols)} names for {len(indices)}"
            raise StepwellError("invalid-ir", op, message)
        values: dict[str, SSAValue] = {}
        for slot, arg in enumerate(indices):
            value = code.load(code.element_pointer(dims, slot, I64), I64, WORD_BYTES)
            _replace(arg, value)
            values[symbols[slot]] = value
        return values

    def _argument_layout(
        self,
        op: func.FuncOp,
        arg: SSAValue,
        attributes: Mapping[str, Attribute],
        symbols: Mapping[str, SSAValue],
        code: Code,
    ) -> Layout:
        """The dense row-major layout of a memref argument; open sizes come from `graph.dims`."""
        type = cast("MemRefType[Attribute]", arg.type)
        if not isinstance(type.layout, NoneAttr):
            raise StepwellError(
                "unsupported", op, f"argument of type {type}: kernels take dense memrefs only"
            )
        if arg.first_use is None:
            return Layout(type.element_type, (), (), 1)  # its sizes may have no symbol here
        named = attributes.get("graph.dims")
        dims = named.get() if isinstance(named, DimsAttr) else (Dim.symbol("?"),) * type.get_num_dims()
        code.symbols = symbols
        sizes: list[Extent | None] = []
        for size, dim in zip(type.get_shape(), dims, strict=True):
            known = size >= 0 or dim.symbols() <= symbols.keys()
            sizes.append((size if size >= 0 else code.size(dim)) if known else None)
        align = attributes.get(ALIGN)
        align_bytes = align.value.data if isinstance(align, IntegerAttr) else element_bytes(type.element_type)
        return dense_layout(op, code, type.element_type, sizes, align_bytes)

    def _enter_plain(
        self,
        op: func.FuncOp,
        entry: Block,
        attributes: Sequence[Mapping[str, Attribute]],
        rewriter: PatternRewriter,
    ) -> None:
        """Turn memref arguments of an ordinary function into bare pointers; sizes are known, or arguments."""
        code = Code(self.state, entry)
        symbols = _named_sizes(entry, attributes)
        for arg in entry.args:
            if isinstance(arg.type, MemRefType):
                layout = self._argument_layout(op, arg, attributes[arg.index], symbols, code)
                self.state.layouts[arg] = layout
                set_type(arg, PTR)
        rewriter.insert(code.ops, InsertPoint.at_start(entry))


def dense_layout(
    op: Operation, code: Code, element: Attribute, sizes: Sequence[Extent | None], align_bytes: int
) -> Layout:
    """
    The layout of a memref in row-major order without gaps.

    Raises: StepwellError `unsupported` where an inner dimension has no known size.
    """
    strides: list[Extent] = []
    stride: Extent | None = 1
    for size in reversed(sizes):
        if stride is None:
            raise StepwellError(
                "unsupported",
                op,
                "the size of an inner dimension is not known here",
                help="name the sizes of the argument with graph.dims, over the symbols of the function",
            )
        strides.append(stride)
        stride = None if size is None else code.times(stride, size)
    return Layout(element, tuple(sizes), tuple(reversed(strides)), align_bytes)


class CallLowering(LoopsToLLVMPattern):
    """
    A call: kernels get arrays of pointers and sizes, and a status other than 0 makes the caller return it.

    ```mlir
    func.call @k(%x, %N) : (memref<4xf32>, index) -> ()
    // -> …
    %args = llvm.alloca %one x !llvm.array<1 x !llvm.ptr> {alignment = 8 : i64} : (i64) -> !llvm.ptr
    %dims = llvm.alloca %one x !llvm.array<1 x i64> {alignment = 8 : i64} : (i64) -> !llvm.ptr
    llvm.store %x, %args {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
    llvm.store %N, %dims {alignment = 8 : i64} : i64, !llvm.ptr
    %status = llvm.call @k(%args, %dims, %ctx) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
    %ok = llvm.icmp "eq" %status, %zero : i32
    llvm.cond_br %ok, ^next, ^failed(%status : i32)
    ```
    """

    def __init__(self, state: State):
        super().__init__(state)
        self._arrays: dict[tuple[llvm.FuncOp, Attribute], CallArray] = {}

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.CallOp, rewriter: PatternRewriter) -> None:
        """Replace a call by llvm's, with the kernel interface if the callee is a kernel."""
        callee = op.callee.root_reference.data
        if callee in self.state.kernels:
            self._call_kernel(op, callee, rewriter)
            return
        types = [converted_type(result.type) for result in op.results]
        call = llvm.CallOp(callee, *op.operands, return_type=types[0] if types else None)
        rewriter.replace(op, call, call.results)

    def _call_kernel(self, op: func.CallOp, callee: str, rewriter: PatternRewriter) -> None:
        """Emit the call of a kernel, and the early return for its status."""
        function, info = self.state.function(op)
        if info.context is None or not info.is_kernel:
            raise StepwellError(
                "unsupported", op, f"kernel @{callee} is called where no status can be returned"
            )
        pointers = [value for value in op.operands if value in self.state.layouts]
        sizes = [value for value in op.operands if value not in self.state.layouts]
        for pointer in pointers:
            if not self.state.layouts[pointer].is_dense:
                raise StepwellError("unsupported", op, f"kernel @{callee} takes dense memrefs, found a view")
        # The arrays, the call, and the early return.
        code = self.code_at(op)
        args = self._array(function, PTR, rewriter).filled(op, pointers, code, rewriter)
        dims = self._array(function, I64, rewriter).filled(op, sizes, code, rewriter)
        status = code.value(call_symbol(op.callee, [args, dims, info.context], I32))
        zero = code.integer(0, I32)
        return_unless(self.state, op, code, code.compare("eq", status, zero), status, rewriter)
        rewriter.erase(op)

    def _array(self, function: llvm.FuncOp, element: Attribute, rewriter: PatternRewriter) -> CallArray:
        """The array for the arguments of one kind that the calls of a function share."""
        key = function, element
        if (array := self._arrays.get(key)) is None:
            array = self._arrays[key] = CallArray.of(function, element, rewriter)
        return array


class ReturnLowering(LoopsToLLVMPattern):
    """
    ```mlir
    … func.return
    // ->
    %ok = llvm.mlir.constant(0 : i32) : i32
    llvm.return %ok : i32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.ReturnOp, rewriter: PatternRewriter) -> None:
        """Return status 0 from a kernel, and the operands from an ordinary function."""
        code = self.code_at(op)
        if self.state.function(op)[1].is_kernel:
            if op.operands:
                raise StepwellError("unsupported", op, "a kernel returns nothing: its results are arguments")
            values = [code.integer(0, I32)]
        else:
            values = list(op.operands)
        rewriter.replace(op, [*code.ops, llvm.ReturnOp.create(operands=values)], [])


def return_unless(
    state: State, op: Operation, code: Code, ok: SSAValue, status: SSAValue, rewriter: PatternRewriter
) -> None:
    """
    Insert code before an op, followed by a return of a status unless `ok`.

    The block is split there at the end of the conversion (`part_blocks`): a split at each call would move all
    ops after it.
    """
    function, info = state.function(op)
    exit = UnrealizedConversionCastOp.create(operands=[ok, status])
    rewriter.insert([*code.ops, exit], InsertPoint.before(op))
    state.exits.append((exit, failure_block(function, info)))


def part_blocks(state: State) -> None:
    """Split blocks where calls may return early, the last of them first."""
    for exit, failure in reversed(state.exits):
        block = cast(Block, exit.parent)
        rest = block.split_before(exit)
        ok, status = exit.operands
        branch = llvm.CondBrOp.create(
            operands=[ok, status],
            properties={"operandSegmentSizes": segment_sizes(1, 0, 1)},
            successors=[rest, failure],
        )
        adopt_location(branch, exit.location)
        exit.detach()
        exit.erase()
        block.add_op(branch)


def failure_block(function: llvm.FuncOp, info: FunctionInfo) -> Block:
    """The block of a function that returns its argument as the status; added on first use."""
    if info.failure is None:
        info.failure = Block(arg_types=[I32])
        status = llvm.ReturnOp(info.failure.args[0])
        adopt_location(status, function.location)
        info.failure.add_op(status)
        function.body.add_block(info.failure)
    return info.failure


def _arguments(op: func.FuncOp) -> list[Mapping[str, Attribute]]:
    """The attributes of each argument of a function."""
    count = len(op.function_type.inputs)
    if op.arg_attrs is None:
        return [{}] * count
    return [attribute.data for attribute in op.arg_attrs]


def _replace(arg: BlockArgument, value: SSAValue) -> None:
    """Replace all uses of an argument by a value, which inherits its name."""
    value.name_hint = arg.name_hint
    arg.replace_all_uses_with(value)


def _named_sizes(entry: Block, attributes: Sequence[Mapping[str, Attribute]]) -> dict[str, SSAValue]:
    """The index arguments that are sizes of other arguments, by the name in their attributes."""
    named: dict[str, SSAValue] = {}
    for arg in entry.args:
        if isinstance(name := attributes[arg.index].get(SIZE), StringAttr):
            set_type(arg, I64)
            named[name.data] = arg
    return named


def _plain_type(op: func.FuncOp) -> llvm.LLVMFunctionType:
    """The type of an ordinary function at level 4: memrefs become pointers."""
    inputs = [
        PTR if isinstance(type, MemRefType) else converted_type(type) for type in op.function_type.inputs
    ]
    outputs = [converted_type(type) for type in op.function_type.outputs]
    if len(outputs) > 1:
        raise StepwellError("unsupported", op, f"@{op.sym_name.data} returns {len(outputs)} values, not one")
    return llvm.LLVMFunctionType(inputs, outputs[0] if outputs else None)


def _kept(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes of a function that an `llvm.func` keeps: the interface of a kernel, or of `@main`."""
    return {name: attributes[name] for name in _KEPT if name in attributes}
