"""Slices and reshapes of tensors → views of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.buffers import Buffers, insert
from stepwell.lowering.bufferize.layouts import memref_of
from stepwell.lowering.bufferize.view_types import subview_type


@dataclass(frozen=True)
class ExtractSliceBufferize(RewritePattern):
    """
    `tensor.extract_slice` → `memref.subview`.

    ```mlir
    %s = tensor.extract_slice %x[%i, 0] [4, 8] [1, 1] : tensor<64x8xf32> to tensor<4x8xf32>
    // ->
    %s = memref.subview %x[%i, 0] [4, 8] [1, 1]
       : memref<64x8xf32> to memref<4x8xf32, strided<[8, 1], offset: ?>>
    ```
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.ExtractSliceOp, rewriter: PatternRewriter) -> None:
        """Define the result as a subview of the source's buffer."""
        self.buffers.define(
            op.result, _subview(op, self.buffers[op.source], tensor_of(op.result).get_shape())
        )


@dataclass(frozen=True)
class InsertSliceBufferize(RewritePattern):
    """
    `tensor.insert_slice` → nothing when its source was computed in place, else a copy into the slice.

    ```mlir
    %d1 = tensor.insert_slice %s into %d[%i] [4] [1] : tensor<4xf32> into tensor<64xf32>
    // ->
    %v = memref.subview %d[%i] [4] [1] : memref<64xf32> to memref<4xf32, strided<[1], offset: ?>>
    "memref.copy"(%s, %v) : (memref<4xf32>, memref<4xf32, strided<[1], offset: ?>>) -> ()
    ```
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.InsertSliceOp, rewriter: PatternRewriter) -> None:
        """Copy the source into the slice of the destination's buffer, unless it was computed there."""
        (destination,) = self.buffers.destinations(op)
        buffer = self.buffers.destination(op, destination)
        if op in self.buffers.paths.in_place_inserts:
            return
        is_whole = not destination.is_read and op.source.type == op.dest.type
        part = buffer if is_whole else _subview(op, buffer, tensor_of(op.source).get_shape())
        self.buffers.copy(self.buffers[op.source], part, op)


@dataclass(frozen=True)
class CastBufferize(RewritePattern):
    """`tensor.cast` → `memref.cast`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.CastOp, rewriter: PatternRewriter) -> None:
        """Cast the buffer to the result's shape."""
        (view,) = insert(memref.CastOp.get(self.buffers[op.source], self.buffers.type_of(op.dest)), op)
        self.buffers.define(op.dest, view)


@dataclass(frozen=True)
class ExpandShapeBufferize(RewritePattern):
    """`tensor.expand_shape` → `memref.expand_shape`."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.ExpandShapeOp, rewriter: PatternRewriter) -> None:
        """Expand the shape of the buffer."""
        expand = memref.ExpandShapeOp.build(
            operands=[self.buffers[op.src], op.dynamic_output_shape],
            properties={"reassociation": op.reassociation, "static_output_shape": op.static_output_shape},
            result_types=[self.buffers.type_of(op.result)],
        )
        self.buffers.define(op.result, insert(expand, op)[0])


@dataclass(frozen=True)
class CollapseShapeBufferize(RewritePattern):
    """`tensor.collapse_shape` → `memref.collapse_shape`, of a dense copy when the elements have gaps."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: tensor.CollapseShapeOp, rewriter: PatternRewriter) -> None:
        """Collapse the buffer, or copy it to a new dense buffer that is seen in the source's shape."""
        source = self.buffers[op.src]
        if not self.buffers.has_own(op.result):
            collapse = memref.CollapseShapeOp.build(
                operands=[source],
                properties={"reassociation": op.reassociation},
                result_types=[self.buffers.type_of(op.result)],
            )
            self.buffers.define(op.result, insert(collapse, op)[0])
            return
        # The copy has the shape of the source: the new buffer is expanded to the shape before the collapse.
        own = self.buffers.define_own(op.result, op)
        shape = memref_of(source).get_shape()
        expand = memref.ExpandShapeOp.build(
            operands=[own, _dims(source, shape, op)],
            properties={"reassociation": op.reassociation, "static_output_shape": _i64s(shape)},
            result_types=[MemRefType(memref_of(source).element_type, shape)],
        )
        self.buffers.copy(source, insert(expand, op)[0], op)


def _i64s(numbers: Sequence[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, numbers)


def _dims(buffer: SSAValue, shape: Sequence[int], before: Operation) -> list[SSAValue]:
    """The extents of a buffer that its type leaves open."""
    sizes: list[SSAValue] = []
    for position, extent in enumerate(shape):
        if extent == DYNAMIC_INDEX:
            (index,) = insert(arith.ConstantOp(IntegerAttr(position, IndexType())), before)
            sizes += insert(memref.DimOp(buffer, index), before)
    return sizes


def _subview(
    op: tensor.ExtractSliceOp | tensor.InsertSliceOp, buffer: SSAValue, shape: tuple[int, ...]
) -> SSAValue:
    """The part of a buffer that a slice op reads or replaces, as a `memref.subview`."""
    subview = memref.SubviewOp(
        buffer,
        op.offsets,
        op.sizes,
        op.strides,
        op.static_offsets,
        op.static_sizes,
        op.static_strides,
        subview_type(op, memref_of(buffer), shape),
    )
    return insert(subview, op)[0]
