"""`narrow-constant-indices`: constant indices in 32 bits, which every device has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count
from stepwell.runtime.meaning import Array

_INDEXED = (graph.GatherOp, graph.GatherElementsOp, graph.GatherNdOp)
_POSITION = 1
"""That of the indices among the operands, after the input."""
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1


@dataclass(frozen=True)
class NarrowConstantIndicesPass(FunctionPass):
    """
    Give the constant indices of gathers 32 bits, where these are enough: some devices have no integers of 64.

    ```mlir
    %i = graph.constant dense<[2, 0]> : tensor<2xi64>
    %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check"
      : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
    // ->
    %i = graph.constant dense<[2, 0]> : tensor<2xi32>
    %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check"
      : (tensor<4xf32>, tensor<2xi32>) -> tensor<2xf32>
    ```
    Class: exact. Runs before `pin-supported-ops`.
    """

    name = "narrow-constant-indices"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        weights = weights_of(ctx)
        made: dict[graph.ConstantOp, graph.ConstantOp | None] = {}
        for op in [each for each in func.walk() if isinstance(each, _INDEXED)]:
            constant = op.indices.owner
            if not isinstance(constant, graph.ConstantOp) or tensor_of(op.indices).element_type != i64:
                continue
            if constant not in made:
                made[constant] = None
                values = constant_array(constant, weights)
                if not values.size or (values.min() >= _LEAST and values.max() <= _MOST):
                    dims = dims_of(constant.result.type)
                    short = constant.derived("i32", _in_32_bits, dims, weights, element=i32)
                    short.result.name_hint = constant.result.name_hint
                    adopt_location(short, constant.location)
                    Rewriter.insert_op(short, InsertPoint.after(constant))
                    made[constant] = short
            if (short := made[constant]) is not None:
                op.operands[_POSITION] = short.result
                count("constant indices of 32 bits")
        for constant in made:
            if not constant.result.uses:
                Rewriter.erase_op(constant)


def _in_32_bits(values: Array) -> Array:
    return values.astype(np.int32)
