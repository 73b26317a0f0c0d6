"""Views of memrefs: a pointer at an offset, with a layout of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, UnrealizedConversionCastOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.tensor_ir.memref_views import collapsed, expanded, groups_of, kept_dims, mixed_numbers
from stepwell.dialects.types import element_bytes
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.functions import dense_layout
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import I8, I64, PTR, Extent, Layout, memory_type, memref_type
from stepwell.runtime.errors import StepwellError


class ViewPattern(LoopsToLLVMPattern):
    """A pattern that replaces a memref by a pointer with a layout."""

    def replace(
        self, op: Operation, code: Code, pointer: SSAValue, layout: Layout, rewriter: PatternRewriter
    ) -> None:
        """
        Replace the op's result by a pointer; one that has another layout already is copied for the new one.
        """
        if self.state.layouts.get(pointer, layout) != layout:
            pointer = code.element_pointer(pointer, code.integer(0), memory_type(layout.element))
        self.state.layouts[pointer] = layout
        rewriter.replace(op, code.ops, [pointer])

    def extents(self, static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> list[Extent]:
        """Static and dynamic numbers of an op, in order; dynamic values that are constants become numbers."""
        return mixed_numbers(static, dynamic, self.number)

    def number(self, value: SSAValue) -> Extent:
        """A value, or its number if it is constant."""
        linear = self.state.linear(value)
        return value if linear.terms else linear.constant


class SubviewLowering(ViewPattern):
    """
    ```mlir
    %v = memref.subview %m[%i, 0] [6, 16] [1, 1] : memref<96x64xf32> to memref<6x16xf32, strided<…>>
    // ->
    %v = llvm.getelementptr inbounds %m[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.SubviewOp, rewriter: PatternRewriter) -> None:
        """Offset the pointer, scale the strides by the steps, and drop dimensions of size 1."""
        source = self.state.layout(op.source, op)
        code = self.code_at(op)
        offsets = self.extents(op.static_offsets, op.offsets)
        sizes = self.extents(op.static_sizes, op.sizes)
        steps = self.extents(op.static_strides, op.strides)
        strides = [code.times(s, t) for s, t in zip(source.strides, steps, strict=True)]
        pointer, align = code.address(op.source, offsets, source)
        is_dense = source.is_dense and all(
            size == whole and offset == 0
            for size, whole, offset in list(zip(sizes, source.sizes, offsets, strict=True))[1:]
        )
        kept = kept_dims(sizes, memref_type(op.result).get_shape(), op)
        layout = Layout(
            source.element,
            tuple(sizes[d] for d in kept),
            tuple(strides[d] for d in kept),
            align,
            is_dense and all(step == 1 for step in steps),
        )
        self.replace(op, code, pointer, layout, rewriter)


class ViewLowering(ViewPattern):
    """
    ```mlir
    %v = memref.view %arena[%offset][%n] : memref<?xi8> to memref<?x64xf32>
    // ->
    %v = llvm.getelementptr inbounds %arena[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ViewOp, rewriter: PatternRewriter) -> None:
        """Offset the arena's pointer by bytes; the layout is dense."""
        code, type = self.code_at(op), memref_type(op.result)
        shift = self.number(op.byte_shift)
        dynamic = iter(op.sizes)
        sizes = [size if size >= 0 else self.number(next(dynamic)) for size in type.get_shape()]
        align = gcd(self.state.layout(op.source, op).align_bytes, self.state.multiple(shift))
        # The arena's plan aligns each buffer at least for its elements.
        layout = dense_layout(
            op, code, type.element_type, sizes, max(align, element_bytes(type.element_type))
        )
        self.replace(op, code, code.element_pointer(op.source, shift, I8), layout, rewriter)


class PointerLowering(ViewPattern):
    """
    A pointer as a memref: the memory of a block of threads, which a global of another address space has.

    ```mlir
    %m = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<16xf32, 3 : i32>
    // ->
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnrealizedConversionCastOp, rewriter: PatternRewriter) -> None:
        """Replace the result by the pointer, with the dense layout of the type."""
        if len(op.results) != 1 or len(op.operands) != 1 or op.operands[0].type != PTR:
            return
        code, type = self.code_at(op), memref_type(op.results[0])
        align = element_bytes(type.element_type)
        layout = dense_layout(op, code, type.element_type, type.get_shape(), align)
        self.replace(op, code, op.operands[0], layout, rewriter)


class CastLowering(ViewPattern):
    """
    A cast is removed: it forgets static sizes, but the layout does not.

    ```mlir
    %d = "memref.cast"(%m) : (memref<4xf32>) -> memref<?xf32>
    // ->
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: memref.CastOp | memref.MemorySpaceCastOp, rewriter: PatternRewriter
    ) -> None:
        """Replace the result by the source."""
        self.state.layout(op.source, op)
        rewriter.replace(op, [], [op.source])


class ReinterpretCastLowering(ViewPattern):
    """
    ```mlir
    %v = memref.reinterpret_cast %m to offset: [4], sizes: [2, 2], strides: [2, 1] : …
    // ->
    %v = llvm.getelementptr inbounds %m[4] : (!llvm.ptr) -> !llvm.ptr, f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ReinterpretCastOp, rewriter: PatternRewriter) -> None:
        """Offset the pointer; sizes and strides are those of the op."""
        source, code = self.state.layout(op.source, op), self.code_at(op)
        (offset,) = self.extents(op.static_offsets, op.offsets)
        sizes = self.extents(op.static_sizes, op.sizes)
        strides = self.extents(op.static_strides, op.strides)
        pointer = code.element_pointer(op.source, offset, memory_type(source.element))
        size = element_bytes(source.element)
        align = gcd(source.align_bytes, self.state.multiple(offset) * size)
        dense = dense_layout(op, code, source.element, sizes, align)
        # The stride of a dimension of one element is never used, nor any stride of an empty memref.
        steps = zip(sizes, dense.strides, strides, strict=True)
        is_dense = 0 in sizes or all(n == 1 or _same_number(a, b) for n, a, b in steps)
        layout = Layout(source.element, tuple(sizes), tuple(strides), align, is_dense)
        self.replace(op, code, pointer, layout, rewriter)


def _same_number(a: Extent, b: Extent) -> bool:
    """Whether two extents are the same number, or the same product computed twice."""
    if a == b:
        return True
    if not isinstance(a, OpResult) or not isinstance(b, OpResult):
        return False
    match a.op, b.op:
        case (llvm.ConstantOp() as first, llvm.ConstantOp() as second):
            return first.value == second.value
        case (llvm.MulOp() as first, llvm.MulOp() as second):
            pairs = zip(first.operands, second.operands, strict=True)
            return all(_same_number(x, y) for x, y in pairs)
        case _:
            return False


class CollapseShapeLowering(ViewPattern):
    """
    A `collapse_shape` joins dimensions; the pointer stays the same.

    ```mlir
    %v = memref.collapse_shape %m [[0, 1], [2]] : memref<2x3x4xf32> into memref<6x4xf32>
    // ->
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.CollapseShapeOp, rewriter: PatternRewriter) -> None:
        """Multiply the sizes of each group and use the stride of its innermost dimension."""
        source, code = self.state.layout(op.src, op), self.code_at(op)
        sizes, strides = collapsed(code, groups_of(op.reassociation), source.sizes, source.strides)
        layout = Layout(source.element, sizes, strides, source.align_bytes, source.is_dense)
        self.replace(op, code, op.src, layout, rewriter)


class ExpandShapeLowering(ViewPattern):
    """
    An `expand_shape` splits a dimension into several; the pointer stays the same.

    ```mlir
    %v = memref.expand_shape %m [[0, 1]] output_shape [2, 3] : memref<6xf32> into memref<2x3xf32>
    // ->
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ExpandShapeOp, rewriter: PatternRewriter) -> None:
        """Derive the strides of each group from that of the split dimension."""
        source, code = self.state.layout(op.src, op), self.code_at(op)
        sizes = self.extents(op.static_output_shape, op.output_shape)
        strides = expanded(code, groups_of(op.reassociation), sizes, source.strides)
        layout = Layout(source.element, tuple(sizes), strides, source.align_bytes, source.is_dense)
        self.replace(op, code, op.src, layout, rewriter)


class DimLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %n = memref.dim %m, %c1 : memref<4x8xf32>
    // ->
    %n = llvm.mlir.constant(8) : i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.DimOp, rewriter: PatternRewriter) -> None:
        """Replace the op by the size in the layout; raise `unsupported` where that is unknown."""
        layout, index = self.state.layout(op.source, op), self.state.linear(op.index)
        if index.terms or not 0 <= index.constant < len(layout.sizes):
            raise StepwellError("unsupported", op, "memref.dim needs a constant dimension of its memref")
        if (size := layout.sizes[index.constant]) is None:
            raise StepwellError(
                "unsupported",
                op,
                f"dimension {index.constant} of the memref is not known here",
                help="name the sizes of the argument with graph.dims, over the symbols of the function",
            )
        code = self.code_at(op)
        value = code.materialize(size)
        rewriter.replace(op, code.ops, [value])


class AssumeAlignmentLowering(ViewPattern):
    """
    The same pointer with a greater known alignment.

    ```mlir
    %a = memref.assume_alignment %m, 64 : memref<96xf32>
    // ->
    %a = llvm.getelementptr inbounds %m[%c0] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.AssumeAlignmentOp, rewriter: PatternRewriter) -> None:
        """Record the greater of both alignments in the layout."""
        layout = self.state.layout(op.memref, op)
        aligned = replace(layout, align_bytes=max(layout.align_bytes, op.alignment.value.data))
        self.replace(op, self.code_at(op), op.memref, aligned, rewriter)


class AddressLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %p = "memref.extract_aligned_pointer_as_index"(%m) : (memref<96xf32>) -> index
    // ->
    %p = llvm.ptrtoint %m : !llvm.ptr to i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ExtractAlignedPointerAsIndexOp, rewriter: PatternRewriter) -> None:
        """Convert the pointer to an integer."""
        rewriter.replace(op, llvm.PtrToIntOp(op.source, I64))
