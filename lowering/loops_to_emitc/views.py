"""Views of memrefs: a pointer to their first element, with a layout of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import Index
from stepwell.dialects.tensor_ir.memref_views import collapsed, expanded, groups_of, kept_dims, mixed_numbers
from stepwell.lowering.loops_to_emitc.memory import moved
from stepwell.lowering.loops_to_emitc.pattern import Code, Layout, LoopsToEmitCPattern
from stepwell.runtime.errors import StepwellError


def _extents(code: Code, static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]) -> list[Index]:
    """Static and dynamic numbers of an op, in order."""
    return mixed_numbers(static, dynamic, code.number_of)


class ViewPattern(LoopsToEmitCPattern):
    """A pattern that replaces a memref by a pointer with a layout."""

    def finish(
        self, op: Operation, code: Code, pointer: SSAValue, layout: Layout, rewriter: PatternRewriter
    ) -> None:
        """Replace the op's result by a pointer of its own with a layout."""
        if pointer in self.state.layouts:
            pointer = moved(code, pointer, 0)
        self.state.layouts[pointer] = layout
        rewriter.replace(op, code.ops, [pointer])


class SubviewLowering(ViewPattern):
    """
    ```mlir
    %v = memref.subview %m[%i, 0] [6, 16] [1, 1] : memref<96x64xf32> to memref<6x16xf32, strided<…>>
    // ->
    %v = emitc.add %m, %offset : (!emitc.ptr<f32>, index) -> !emitc.ptr<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.SubviewOp, rewriter: PatternRewriter) -> None:
        """Offset the pointer, scale the strides by the steps, and drop dimensions of size 1."""
        source, code = self.state.layout(op.source, op), Code.before(op)
        offsets = _extents(code, op.static_offsets, op.offsets)
        sizes = _extents(code, op.static_sizes, op.sizes)
        steps = _extents(code, op.static_strides, op.strides)
        strides = [code.times(s, t) for s, t in zip(source.strides, steps, strict=True)]
        pointer = moved(code, op.source, code.offset(offsets, source))
        inner = list(zip(sizes, source.sizes, offsets, strict=True))[1:]
        is_dense = source.is_dense and all(size == whole and offset == 0 for size, whole, offset in inner)
        shape = op.result.type.get_shape()
        kept = kept_dims(sizes, shape, op)
        layout = Layout(
            source.element,
            tuple(sizes[d] for d in kept),
            tuple(strides[d] for d in kept),
            is_dense and all(step == 1 for step in steps),
        )
        self.finish(op, code, pointer, layout, rewriter)


class ReinterpretCastLowering(ViewPattern):
    """
    ```mlir
    %v = memref.reinterpret_cast %m to offset: [%o], sizes: [4], strides: [1] : …
    // ->
    %v = emitc.add %m, %o : (!emitc.ptr<f32>, index) -> !emitc.ptr<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.ReinterpretCastOp, rewriter: PatternRewriter) -> None:
        """Offset the pointer; sizes and strides are the op's, and may leave gaps."""
        source, code = self.state.layout(op.source, op), Code.before(op)
        (offset,) = _extents(code, op.static_offsets, op.offsets)
        sizes = _extents(code, op.static_sizes, op.sizes)
        strides = _extents(code, op.static_strides, op.strides)
        is_dense = all(
            size == 1 or _product([stride]) == _product(sizes[number + 1 :])
            for number, (size, stride) in enumerate(zip(sizes, strides, strict=True))
        )
        pointer = moved(code, op.source, offset)
        self.finish(
            op, code, pointer, Layout(source.element, tuple(sizes), tuple(strides), is_dense), rewriter
        )


def _product(values: Sequence[Index]) -> tuple[int, Counter[SSAValue]]:
    """The product of values as a number and other factors, however they were multiplied."""
    number, others = 1, Counter[SSAValue]()
    for value in values:
        if isinstance(value, int):
            number *= value
        elif isinstance(op := value.owner, expressions.MulOp):
            inner, more = _product(op.operands)
            number, others = number * inner, others + more
        elif isinstance(op, emitc.ConstantOp) and isinstance(attr := op.value, IntegerAttr):
            number *= attr.value.data
        else:
            others[value] += 1
    return number, others


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
        source, code = self.state.layout(op.src, op), Code.before(op)
        sizes, strides = collapsed(code, groups_of(op.reassociation), source.sizes, source.strides)
        layout = Layout(source.element, sizes, strides, source.is_dense)
        self.finish(op, code, op.src, layout, rewriter)


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
        source, code = self.state.layout(op.src, op), Code.before(op)
        sizes = _extents(code, op.static_output_shape, op.output_shape)
        strides = expanded(code, groups_of(op.reassociation), sizes, source.strides)
        layout = Layout(source.element, tuple(sizes), strides, source.is_dense)
        self.finish(op, code, op.src, layout, rewriter)


class DimLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %n = memref.dim %m, %c1 : memref<4x8xf32>
    // ->
    %n = emitc.constant 8 : index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.DimOp, rewriter: PatternRewriter) -> None:
        """Replace the op by the size in the layout; raise `unsupported` where that is unknown."""
        layout, code = self.state.layout(op.source, op), Code.before(op)
        index = code.number_of(op.index)
        if not isinstance(index, int) or not 0 <= index < len(layout.sizes):
            raise StepwellError("unsupported", op, "memref.dim needs a constant dimension of its memref")
        if (size := layout.sizes[index]) is None:
            help = "name the sizes of the argument with graph.dims, over the symbols of the function"
            message = f"dimension {index} of the memref is not known here"
            raise StepwellError("unsupported", op, message, help=help)
        value = code.materialize(size)
        rewriter.replace(op, code.ops, [value])


class AssumeAlignmentLowering(LoopsToEmitCPattern):
    """An `assume_alignment` is dropped: C has no word for it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: memref.AssumeAlignmentOp, rewriter: PatternRewriter) -> None:
        """Replace the op by its operand."""
        rewriter.replace(op, [], [op.memref])
