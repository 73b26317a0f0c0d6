"""`linalg`, and ops of whole grids, on tensors → the same on buffers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref, tensor
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter

from stepwell.dialects.linalg_ext import GridOp
from stepwell.lowering.bufferize.accesses import is_tensor
from stepwell.lowering.bufferize.buffers import Buffers, insert


@dataclass(frozen=True)
class StructuredBufferize(RewritePattern):
    """
    `linalg.generic` and `linalg.fill`: the outputs' buffers are overwritten.

    ```mlir
    %1 = linalg.fill ins(%c : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    // ->
    linalg.fill ins(%c : f32) outs(%b : memref<4xf32>)
    ```
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LinalgStructuredOperation, rewriter: PatternRewriter) -> None:
        """Rebuild the op on the buffers of its inputs and destinations."""
        if not op.res:
            return
        inputs = [self.buffers[value] if is_tensor(value) else value for value in op.inputs]
        outputs = [self.buffers.destination(op, destination) for destination in self.buffers.destinations(op)]
        body = op.detach_region(op.body)
        read_elements(body.block, self.buffers)
        insert(
            type(op).create(
                operands=[*inputs, *outputs],
                properties=op.properties,
                attributes=op.attributes,
                regions=[body],
            ),
            op,
        )
        rewriter.has_done_action = True


@dataclass(frozen=True)
class GridBufferize(RewritePattern):
    """
    Ops of `linalg_ext` that one grid computes: the buffer of `init` is overwritten.

    ```mlir
    %y = linalg_ext.grid_scan %x into %0 kind "sum" axis 0 exclusive false reverse false
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    linalg_ext.grid_scan %x into %b kind "sum" axis 0 exclusive false reverse false
      : (memref<4xf32>, memref<4xf32>) -> ()
    ```
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GridOp, rewriter: PatternRewriter) -> None:
        """Rebuild the op on the buffers of its inputs and its destination."""
        if not op.results:
            return
        (destination,) = self.buffers.destinations(op)
        target = self.buffers.destination(op, destination)
        operands = [target if value is op.written else self.buffers[value] for value in op.operands]
        insert(type(op).create(operands=operands, properties=op.properties, attributes=op.attributes), op)
        rewriter.has_done_action = True


def read_elements(body: Block, buffers: Buffers) -> None:
    """Let the `tensor.extract` and `tensor.dim` ops in a structured op's body access buffers."""
    for op in list(body.walk()):
        if isinstance(op, tensor.ExtractOp):
            load = memref.LoadOp.get(buffers[op.tensor], op.indices)
        elif isinstance(op, tensor.DimOp):
            load = memref.DimOp(buffers[op.source], op.index)
        else:
            continue
        load.location = op.location
        Rewriter.replace_op(op, load)
