"""Memory accesses (`memref.load`, `store`, `copy`) and memory itself: `alloca`, and weights as globals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm.memory import MemcpyOp
from stepwell.dialects.types import element_bytes, int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.functions import dense_layout
from stepwell.lowering.loops_to_llvm.half import lane_bits
from stepwell.lowering.loops_to_llvm.loops import loop_nest
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.stack import stack_slot
from stepwell.lowering.loops_to_llvm.state import (
    I64,
    PTR,
    Extent,
    Layout,
    converted_type,
    memory_type,
    memref_type,
)
from stepwell.runtime.abi import WORD_BYTES, CtxField
from stepwell.runtime.errors import StepwellError

_STACK_ALIGNMENT = 64  # of the widest vector
_NOT_EQUAL = int_attr(llvm.ICmpPredicateFlag.NE.to_int())


def from_memory(code: Code, value: SSAValue, type: Attribute) -> SSAValue:
    """A loaded value in the type to compute in: an i1 is a byte in memory, and every number but 0 is true."""
    if value.type is type or value.type == type:
        return value
    if lane_bits(value.type) == lane_bits(type):
        return code.make(llvm.BitcastOp, [value], type)
    zero = code.make(llvm.ConstantOp, [], value.type, {"value": _zero(value.type)})
    return code.make(llvm.ICmpOp, [value, zero], type, {"predicate": _NOT_EQUAL})


def to_memory(code: Code, value: SSAValue) -> SSAValue:
    """A value in its memory type."""
    stored = memory_type(value.type)
    if stored is value.type or stored == value.type:
        return value
    same_width = lane_bits(stored) == lane_bits(value.type)
    return code.make(llvm.BitcastOp if same_width else llvm.ZExtOp, [value], stored)


def _zero(type: Attribute) -> Attribute:
    """The zero of a type of bytes, scalar or vector."""
    if type.__class__ is not VectorType:
        return int_attr(0, 8)
    vector = cast("VectorType[IntegerType]", type)
    return DenseIntOrFPElementsAttr(vector, BytesAttr(bytes(vector.get_shape()[0])))


class LoadLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %x = memref.load %m[%i, %j] : memref<4x8xf32>
    // ->
    %p = llvm.getelementptr inbounds %m[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.LoadOp, rewriter: PatternRewriter) -> None:
        """Load an element at the address of its indices."""
        layout = self.state.layout(op.memref, op)
        code = self.code_at(op)
        pointer, alignment = code.address(op.memref, list(op.indices), layout)
        stored, type = memory_type(layout.element), converted_type(layout.element)
        if stored == type:
            self.become_access(op, llvm.LoadOp, rewriter, code, [pointer], alignment)
            return
        result = from_memory(code, code.load(pointer, stored, alignment), type)
        rewriter.replace(op, code.ops, [result])


class StoreLowering(LoopsToLLVMPattern):
    """
    ```mlir
    memref.store %x, %m[%i] : memref<8xf32>
    // ->
    %p = llvm.getelementptr inbounds %m[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %x, %p {alignment = 4 : i64} : f32, !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.StoreOp, rewriter: PatternRewriter) -> None:
        """Store an element at the address of its indices."""
        layout = self.state.layout(op.memref, op)
        code = self.code_at(op)
        value = to_memory(code, op.value)
        pointer, alignment = code.address(op.memref, list(op.indices), layout)
        self.become_access(op, llvm.StoreOp, rewriter, code, [value, pointer], alignment)


class AllocaLowering(LoopsToLLVMPattern):
    """
    Memory of static size on the stack, allocated at the function's entry.

    ```mlir
    %m = memref.alloca() : memref<6x16xf32>
    // ->
    %m = llvm.alloca %one x !llvm.array<96 x f32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.AllocaOp, rewriter: PatternRewriter) -> None:
        """Allocate an array, with the op's alignment or that of the widest vector."""
        type = memref_type(op.memref)
        count = 1
        for size in type.get_shape():
            if size < 0:
                raise StepwellError("unsupported", op, "memref.alloca of a size known at run time only")
            count *= size
        align = _STACK_ALIGNMENT
        if isinstance(op.alignment, IntegerAttr):
            align = max(op.alignment.value.data, element_bytes(type.element_type))
        array = llvm.LLVMArrayType(count, memory_type(type.element_type))
        slot = stack_slot(self.state.function(op)[0], array, align, rewriter)
        code = self.code_at(op)
        self.state.layouts[slot] = dense_layout(op, code, type.element_type, type.get_shape(), align)
        rewriter.replace(op, code.ops, [slot])


class GetGlobalLowering(LoopsToLLVMPattern):
    """
    A weight, whose pointer is loaded from the context's table.

    ```mlir
    %w = memref.get_global @w1 : memref<4xf32>
    // ->
    %field = llvm.getelementptr inbounds %ctx[4] : (!llvm.ptr) -> !llvm.ptr, i64
    %table = llvm.load %field {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
    %entry = llvm.getelementptr inbounds %table[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %w = llvm.load %entry {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.GetGlobalOp, rewriter: PatternRewriter) -> None:
        """Load the table's address from the context, then the entry of the weight."""
        name, type = op.name_.string_value(), memref_type(op.memref)
        context = self.state.function(op)[1].context
        if context is None or name not in self.state.weights:
            raise StepwellError("unsupported", op, f"@{name} is no weight, or has no context to be found in")
        code = self.code_at(op)
        table = code.load(code.element_pointer(context, CtxField.WEIGHTS, I64), PTR, WORD_BYTES)
        entry = code.element_pointer(table, self.state.weights[name], PTR)
        pointer = code.load(entry, PTR, WORD_BYTES)
        align_bytes = element_bytes(type.element_type)
        self.state.layouts[pointer] = dense_layout(op, code, type.element_type, type.get_shape(), align_bytes)
        rewriter.replace(op, code.ops, [pointer])


class GlobalLowering(LoopsToLLVMPattern):
    """A weight's declaration is erased: its bytes come from the artifact."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.GlobalOp, rewriter: PatternRewriter) -> None:
        """Erase the global."""
        rewriter.erase(op)


class CopyLowering(LoopsToLLVMPattern):
    """
    A copy as a single `memcpy` if both sides are dense, else as loops around row or element copies.

    ```mlir
    "memref.copy"(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
    // ->
    llvm.intr.memcpy(%b, %a, %bytes) : !llvm.ptr, !llvm.ptr, i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CopyOp, rewriter: PatternRewriter) -> None:
        """Emit loops over the outer dimensions around copies of the innermost dense ones."""
        source, target = op.source, op.destination
        layouts = self.state.layout(source, op), self.state.layout(target, op)
        code = self.code_at(op)
        pairs = zip(layouts[0].sizes, layouts[1].sizes, strict=True)
        known = [a if isinstance(a, int) or b is None else b for a, b in pairs]
        sizes = [size for size in known if size is not None]
        if len(sizes) != len(known):
            raise StepwellError("unsupported", op, "memref.copy of a size that is not known here")
        # The innermost dimensions that are copied at once, and loops around them.
        together = len(sizes) if layouts[0].is_dense and layouts[1].is_dense else _dense_dims(layouts, sizes)
        outer = len(sizes) - together

        def copy_row(row: Code, indices: Sequence[SSAValue]) -> None:
            start: list[Extent] = [*indices, *[0] * together]
            (to, to_align), (from_, from_align) = (
                row.address(base, start, layout)
                for base, layout in ((target, layouts[1]), (source, layouts[0]))
            )
            type = memory_type(layouts[0].element)
            if together == 0:
                row.store(row.load(from_, type, from_align), to, to_align)
                return
            size: Extent = element_bytes(layouts[0].element)
            for extent in sizes[outer:]:
                size = row.times(size, extent)
            row.insert(MemcpyOp.create(operands=[to, from_, row.materialize(size)]))

        loop_nest(code, sizes[:outer], copy_row)
        rewriter.replace(op, code.ops, [])


def _dense_dims(layouts: tuple[Layout, Layout], sizes: Sequence[Extent]) -> int:
    """The number of innermost dimensions that are contiguous in both memrefs."""
    count, expected = 0, 1
    for size, stride, other in zip(
        reversed(sizes), reversed(layouts[0].strides), reversed(layouts[1].strides), strict=True
    ):
        if not stride == other == expected:
            break
        count += 1
        if not isinstance(size, int):
            break
        expected *= size
    return count
