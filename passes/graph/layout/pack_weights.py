"""`pack-weights`: constant matrices are packed into panels, in the order in which kernels read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, bf16, f16, f32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.layout.packed_constants import PackedConstants
from stepwell.passes.graph.layout.scaled_panels import scaled_panels
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


@dataclass(frozen=True)
class PackWeightsPass(FunctionPass):
    """
    Pack the constant right operands of matrix products into panels of columns, which a kernel reads in order.

    Where no panel width divides the columns, the last panel is padded with a few zeros, or the matrix is only
    transposed to [K, N]. Weights of recurrent layers are packed too, in panels within a gate.

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
    numerics = Numerics.ROUNDING

    lanes: int = 16
    """The elements of a vector register."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.lanes == 1:  # a target without vectors
            return
        packer = _Packer(self.lanes, weights_of(ctx))
        for op in list(func.walk()):
            if isinstance(op, graph.MatmulOp):
                packer.pack_matmul(op)
            elif isinstance(op, graph.RnnOp):
                packer.pack_rnn(op)


def padded_panel_width(columns: int, steps: int, lanes: int) -> int:
    """
    The columns of a panel if the last panel may be padded with zeros; 0 if that would be too much padding.

    Without panels, rows are far apart in memory and their vectors are not aligned (180x1086x2176: 0.72 of
    peak, in panels 0.96).
    """
    if width := panel_width(columns, lanes):
        return width
    widths = [count * lanes for count in (2, 3, 1)]
    width = min(widths, key=lambda width: -columns % width)
    pays = columns and -columns % width <= LAYOUTS.panel_padding * columns and steps >= LAYOUTS.padding_steps
    return width if pays else 0


def panel_width(columns: int, lanes: int) -> int:
    """The columns of a panel: two vectors, three or one, as divides the columns; 0 if none does."""
    # With two vectors, 32 registers have room for 14 rows of accumulators; a wider tile reads several panels.
    return next((count * lanes for count in (2, 3, 1) if columns and columns % (count * lanes) == 0), 0)


class _Packer:
    """A rewriter of ops with constant weights; a constant that several ops read is packed once."""

    def __init__(self, lanes: int, weights: WeightStore):
        self._lanes = lanes
        self._weights = weights
        self._constants = PackedConstants(weights)

    def pack_matmul(self, op: graph.MatmulOp) -> None:
        """Replace a product by one on panels; where no panel fits, undo `transpose_b` of the constant."""
        if isinstance(op.b.owner, graph.DequantizeOp) and not op.panel and len(dims_of(op.b.type)) == 2:
            self._pack_scaled(op)
            return
        if op.panel or not isinstance(op.b.owner, graph.ConstantOp) or len(dims_of(op.b.type)) != 2:
            return
        transposed = bool(op.transpose_b.value.data)
        columns = dims_of(op.result.type)[-1]
        fits = tensor_of(op.b).element_type in (f32, f16, bf16) and len(dims_of(op.a.type)) > 1
        steps = dims_of(op.a.type)[-2 if op.transpose_a.value.data else -1]
        number = steps.value if steps.is_static else 0
        width = padded_panel_width(columns.value, number, self._lanes) if fits else 0
        if not width and not transposed:
            return
        form = f"panels{width}{'T' if transposed else ''}" if width else "T"
        depth = dims_of(op.b.type)[int(transposed)]
        shape = [columns.ceildiv(width), depth, width] if width else [depth, columns]
        product = graph.MatmulOp(
            op.a,
            self._constants.of(op.b, form, shape, lambda b: _panels(b.T if transposed else b, width)),
            transpose_a=bool(op.transpose_a.value.data),
            packing=width,
            out_type=op.out_type,
        )
        adopt_location(product, op.location)
        if (dims := dims_of(op.result.type)) == dims_of(product.result.type):
            Rewriter.replace_op(op, product)
            return
        rank, bias = len(dims), self._only_bias(op)
        made: list[Operation] = [product]
        if bias is not None:
            fill = dims_of(product.result.type)[-1].value - columns.value
            shape = [columns + fill]
            padded = self._constants.of(bias.b, f"padded{fill}", shape, lambda b: np.pad(b, (0, fill)))
            made.append(graph.BiasAddOp(product.result, padded, rank - 1))
        made.append(graph.SliceOp(made[-1].results[0], [0] * rank, list(dims), [1] * rank))
        for new in made:
            adopt_location(new, op.location)
        if bias is None:
            Rewriter.replace_op(op, made, [made[-1].results[0]])
        else:
            Rewriter.replace_op(bias, made, [made[-1].results[0]])
            Rewriter.erase_op(op)

    @staticmethod
    def _only_bias(op: graph.MatmulOp) -> graph.BiasAddOp | None:
        """The constant `bias_add` that is a product's only user; it moves before the slice, to be fused."""
        uses = list(op.result.uses)
        bias = uses[0].operation if len(uses) == 1 else None
        if not isinstance(bias, graph.BiasAddOp) or not isinstance(bias.b.owner, graph.ConstantOp):
            return None
        return bias if bias.axis.value.data == len(dims_of(op.result.type)) - 1 else None

    def _pack_scaled(self, op: graph.MatmulOp) -> None:
        """Replace a product with block-quantized weights by one on panels of their codes and scales."""
        width = panel_width(dims_of(op.result.type)[-1].value, self._lanes)

        inserted = IRBuilder.before(op).value
        if len(dims_of(op.a.type)) < 2 or (b := scaled_panels(op, width, self._weights, inserted)) is None:
            return
        transpose_a = bool(op.transpose_a.value.data)
        product = graph.MatmulOp(op.a, b, transpose_a=transpose_a, packing=width, out_type=op.out_type)
        adopt_location(product, op.location)
        Rewriter.replace_op(op, product)

    def pack_rnn(self, op: graph.RnnOp) -> None:
        """Pack both weights of a recurrent layer into panels that divide each gate, or are one gate."""
        constants = isinstance(op.w.owner, graph.ConstantOp) and isinstance(op.r.owner, graph.ConstantOp)
        if op.panel or not constants:
            return
        width = panel_width(op.hidden.value, self._lanes) or op.hidden.value
        for slot, weight in ((1, op.w), (2, op.r)):
            layers, rows, depth = dims_of(weight.type)
            shape, form = [layers, rows // width, depth, width], f"panels{width}"
            op.operands[slot] = self._constants.of(weight, form, shape, lambda w: _layers_panels(w, width))
        op.properties["packing"] = IntegerAttr(width, i64)


def _panels(b: Array, width: int) -> Array:
    """A matrix [K, N] as panels [N/width, K, width], the last padded with zeros; unchanged for width 0."""
    if not width:
        return b
    fill = -b.shape[1] % width
    whole = np.pad(b, ((0, 0), (0, fill))) if fill else b
    return whole.reshape(b.shape[0], -1, width).transpose(1, 0, 2)


def _layers_panels(w: Array, width: int) -> Array:
    """The rows of weights [D, G·H, K] as panels [D, G·H/width, K, width]."""
    return w.reshape(w.shape[0], -1, width, w.shape[2]).swapaxes(2, 3)
