"""`sink-reshapes`: elementwise ops run on the dimensions of their operands before a collapse."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp

from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.tensor_ir.expand_loops import expanded, is_elementwise
from stepwell.passes.tensor.scheduling_pass import SchedulingPass


@dataclass(frozen=True)
class SinkReshapesPass(SchedulingPass):
    """
    Move `tensor.collapse_shape` below elementwise users, which can then share the loops of its producer.

    ```mlir
    %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<8x2x16xf32> into tensor<8x32xf32>
    %3 = linalg.generic {… (d0, d1) -> (d0, d1), (d0, d1) -> (d1), …} ins(%1, %bias) outs(%2) {…}
    // ->
    %b = tensor.expand_shape %bias [[0, 1]] output_shape [2, 16] : tensor<32xf32> into tensor<2x16xf32>
    %3 = linalg.generic {… (d0, d1, d2) -> (d0, d1, d2), (d0, d1, d2) -> (d1, d2), …} ins(%0, %b) outs(%e) {…}
    %4 = tensor.collapse_shape %3 [[0], [1, 2]] : tensor<8x2x16xf32> into tensor<8x32xf32>
    ```
    Class: exact. Split dimensions must be static. Kernels with schedules stay as they are.
    Source: MLIR's linalg fusion by expansion.
    """

    name = "sink-reshapes"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if any(SCHEDULE in op.attributes for op in func.body.block.ops):
            return
        for block in func.body.blocks:
            op = block.first_op
            while op is not None:
                following = op.next_op
                if isinstance(op, GenericOp) and is_elementwise(op) and (made := expanded(op)) is not None:
                    following = made.next_op
                op = following
