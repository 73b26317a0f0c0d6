"""Patterns for updates of a part of a tensor, in the memory of what they change."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.ir_builder import Index
from stepwell.lowering.main_to_buffers.conversion import MainPattern


class InsertSliceLowering(MainPattern):
    """
    An update as a copy to its place; the rest is copied before where the result has memory of its own.

    ```mlir
    %y = graph.insert_slice %u into %x at <[2, 0]> : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    // ->
    "memref.copy"(%x, %y) : (memref<8x4xf32>, memref<8x4xf32>) -> ()
    %place = memref.reinterpret_cast %y to offset: [8], sizes: [1, 4], strides: [4, 1]
      : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: 8>>
    "memref.copy"(%u, %place) : (memref<1x4xf32>, memref<1x4xf32, strided<[4, 1], offset: 8>>) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.InsertSliceOp, rewriter: PatternRewriter) -> None:
        main, b = self.main, self.main.builder
        assert op.offsets is not None
        plan = main.plan.shaped
        update = main.memref(op.update)
        if plan[op.input].buffer is not plan[op.result].buffer:
            before = main.memref(op.input)
            b.insert(memref.CopyOp(before, main.memref(op.result)))
        whole, dims = main.memref(op.result), main.dims(op.update)
        strides: list[Index] = [1]
        for size in main.dims(op.result)[:0:-1]:
            strides.insert(0, b.times(strides[0], b.size(size)))
        strides = strides[: len(dims)]
        offset: Index = 0
        for begin, stride in zip(op.offsets.get(), strides, strict=True):
            offset = b.plus(offset, b.times(b.size(begin), stride))
        sizes = [b.size(dim) for dim in dims]
        shape = [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes]
        layout = StridedLayoutAttr(
            [stride if isinstance(stride, int) else None for stride in strides],
            offset if isinstance(offset, int) else None,
        )
        type: MemRefType[Attribute] = MemRefType(plan[op.update].type.element_type, shape, layout)
        place = b.value(memref.ReinterpretCastOp.from_dynamic(whole, [offset], sizes, strides, type))
        b.insert(memref.CopyOp(update, place))
        main.finish(op)
