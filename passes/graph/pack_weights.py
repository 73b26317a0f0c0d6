"""`pack-weights`: constant matrices get the order in which kernels read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import WeightAttr, dims_of, tensor_of
from stepwell.passes.base import FunctionPass
from stepwell.runtime.weights import WeightStore


@dataclass(frozen=True)
class PackWeightsPass(FunctionPass):
    """
    Rearrange the constant right operands of matrix products: into panels of columns, which a kernel reads
    straight through; where no panel divides the columns, only into rows along K.

    ```mlir
    %y = graph.matmul %a, %b transpose_b true : (tensor<8x64xf32>, tensor<32x64xf32>) -> tensor<8x32xf32>
    // ->
    %y = graph.matmul %a, %p packing 32 : (tensor<8x64xf32>, tensor<1x64x32xf32>) -> tensor<8x32xf32>
    ```
    Class: exact.
    Source: Goto, van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication".
    """

    name = "pack-weights"
    opt_level = 2

    lanes: int = 16
    """Elements of a vector register."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        packed: dict[tuple[SSAValue, bool, int], SSAValue] = {}
        for op in list(func.walk()):
            if isinstance(op, graph.MatmulOp):
                _pack(op, self.lanes, weights_of(ctx), packed)


def panel_width(columns: int, lanes: int) -> int:
    """The columns of a panel, 0 when no width divides them: two vectors, three or one."""
    # Two of them leave 14 rows of accumulators in 32 registers; a wider tile takes several panels.
    return next((count * lanes for count in (2, 3, 1) if columns and columns % (count * lanes) == 0), 0)


def _pack(
    op: graph.MatmulOp, lanes: int, weights: WeightStore, packed: dict[tuple[SSAValue, bool, int], SSAValue]
) -> None:
    if op.panel or not isinstance(constant := op.b.owner, graph.ConstantOp) or len(dims_of(op.b.type)) != 2:
        return
    transposed = bool(op.transpose_b.value.data)
    columns = dims_of(op.result.type)[-1]
    fits = tensor_of(op.b).element_type == f32 and len(dims_of(op.a.type)) > 1
    width = panel_width(columns.value, lanes) if fits else 0
    if not width and not transposed:
        return
    key = (op.b, transposed, width)
    if key not in packed:
        array = _arranged(constant_array(constant, weights), transposed, width)
        name = constant.value.weight_name.data if isinstance(constant.value, WeightAttr) else ""
        made = graph.ConstantOp.of(array, weights, f"{name}:{'K' if not width else f'panels{width}'}")
        adopt_location(made, constant.location)
        Rewriter.insert_op(made, InsertPoint.after(constant))
        packed[key] = made.result
    product = graph.MatmulOp(
        op.a,
        packed[key],
        transpose_a=bool(op.transpose_a.value.data),
        packing=width,
        out_type=op.out_type,
    )
    adopt_location(product, op.location)
    Rewriter.replace_op(op, product)


def _arranged(b: npt.NDArray[np.generic], transposed: bool, width: int) -> npt.NDArray[np.generic]:
    """A matrix as [K, N], or as panels [N/width, K, width]."""
    rows = b.T if transposed else b
    if width:
        rows = rows.reshape(rows.shape[0], -1, width).transpose(1, 0, 2)
    return np.ascontiguousarray(rows)
