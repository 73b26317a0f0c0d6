"""`pack-bfloats`: operands of bf16 products are packed in pairs, for instructions that add two products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import bf16, f32, i16, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import target_of, weights_of
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import bool_attr, dims_of, dtype_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count, remark
from stepwell.passes.graph.layout.pack_weights import padded_panel_width
from stepwell.passes.graph.layout.packed_constants import PackedConstants
from stepwell.passes.graph.layout.strategies import rounded_input, unrounded
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import Layout, parse_layout
from stepwell.runtime.meaning import Array


@dataclass(frozen=True)
class PackBfloatsPass(FunctionPass):
    """
    Pack two bf16 that are neighbours along a sum into 32 bits, in products and convolutions of constants.

    One instruction adds the products of both. Weights are packed at compile time, in panels or blocks of
    columns; activations are in order already. Convolutions of operands that are rounded to bf16 and back
    read the bf16 themselves: blocks in pairs of channels, plain feature maps, of few channels, in pairs of
    neighbours in a row where strides are even. Attention of such operands rounds and packs them itself, and
    the exponentials of its scores too. A sum of an odd number of products, and columns that fill no panel,
    remain.

    ```mlir
    %y = graph.matmul %a, %b out_type f32 : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xf32>
    // ->
    %0 = graph.bitcast %a to i16 : tensor<8x64xbf16> -> tensor<8x64xi16>
    %1 = graph.words %0 : tensor<8x64xi16> -> tensor<8x32xi32>
    %y = graph.matmul %1, %p packing 32 pairs true
      : (tensor<8x32xi32>, tensor<1x32x32xi32>) -> tensor<8x32xf32>
    ```
    Class: rounding, but for denormal numbers, which count as zeros. Runs after `winograd-conv`, before
    `pack-weights`, on targets with such an instruction.
    """

    name = "pack-bfloats"
    opt_level = 2
    numerics = Numerics.ROUNDING

    lanes: int = 16
    """The elements of a vector register."""
    always: bool = False
    """Rewrite for targets without the instruction too."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.lanes == 1 or not (self.always or target_of(ctx).has_bfloat_products):
            return
        packer = _Packer(self.lanes, weights_of(ctx))
        for op in list(func.walk()):
            if isinstance(op, graph.MatmulOp):
                packer.pack_matmul(op)
            elif isinstance(op, graph.ConvOp):
                packer.pack_conv(op)
            elif isinstance(op, graph.AttentionOp):
                packer.pack_attention(op)


class _Packer:
    """A rewriter of products of bf16; an operand that several ops read is packed once."""

    def __init__(self, lanes: int, weights: WeightStore):
        self._lanes = lanes
        self._constants = PackedConstants(weights)
        self._views: dict[SSAValue, SSAValue] = {}

    def pack_matmul(self, op: graph.MatmulOp) -> None:
        """Replace a product with a constant matrix by one of pairs."""
        steps = dims_of(op.a.type)[-1]
        if op.panel or op.transpose_a.value.data or not isinstance(op.b.owner, graph.ConstantOp):
            return
        if [element_of_value(x) for x in (op.a, op.b)] != [bf16, bf16]:
            return
        if len(dims_of(op.a.type)) < 2 or len(dims_of(op.b.type)) != 2:
            return
        columns = dims_of(op.result.type)[-1].value
        width = padded_panel_width(columns, steps.value if steps.is_static else 0, self._lanes)
        if not steps.is_static or steps.value % 2 or not width or columns % width:
            remark(op, "not packed in pairs: the sum has an odd length, or the columns fill no panel")
            return
        transposed = bool(op.transpose_b.value.data)
        shape = [Dim.of(columns // width), steps // 2, Dim.of(width)]
        form = f"pairs{width}{'T' if transposed else ''}"
        b = self._constants.of(op.b, form, shape, partial(_panels, transposed, width), i32)
        product = graph.MatmulOp(self._pairs(op.a, op), b, packing=width, pairs=True)
        self._replace(op, product)

    def pack_conv(self, op: graph.ConvOp) -> None:
        """Replace a convolution of rounded operands, with filters in blocks, by one of pairs."""
        block = self._lanes
        data, kernel = parse_layout(op.data_layout.data), parse_layout(op.kernel_layout.data)
        spatial = "".join(data.spatial)
        rounded = rounded_input(op)
        if rounded is None or not isinstance(op.w.owner, graph.ConstantOp) or block % 2:
            return
        if (str(data), str(kernel)) == (f"NC{spatial}{block}c", f"OI{spatial}{block}i{block}o"):
            self._pack_channels(op, rounded, data, kernel)
        elif (str(data), str(kernel)) == (f"NC{spatial}", f"OI{spatial}{block}o"):
            self._pack_rows(op, rounded)

    def _pack_rows(self, op: graph.ConvOp, rounded: SSAValue) -> None:
        """Replace a convolution of plain feature maps if it reads neighbours in a row together."""
        *outer, taps, lanes = dims_of(op.w.type)
        width, results = dims_of(op.x.type)[-1], dims_of(op.result.type)[-2]
        *strides, stride = op.strides.get_values()
        pads, rank = list(op.pads.get_values()), len(op.strides.get_values())
        left = pads[rank - 1]
        if stride % 2 or op.dilations.get_values()[-1] != 1 or min(left, pads[-1]) < 0:
            return
        if not width.is_static or width.value % 2 or not taps.is_static:
            return
        # A tap of zero before the filter where padding is odd, and one after it where taps are odd then.
        before = left % 2
        pairs = (taps.value + before + 1) // 2
        if pairs >= taps.value:
            return
        pads[rank - 1] = (left + before) // 2
        own = (results.value - 1) * (stride // 2) + pairs - width.value // 2
        pads[-1] = max(0, own - pads[rank - 1])
        pack, shape = partial(_rows, before, pairs), [*outer, Dim.of(pairs), lanes]
        made = graph.ConvOp(
            self._pairs(rounded, op),
            self._constants.of(op.w, f"row_pairs{before}", shape, pack, i32),
            strides=[*strides, stride // 2],
            dilations=op.dilations.get_values(),
            pads=pads,
            groups=op.groups.value.data,
            pairs=True,
            data_layout=op.data_layout.data,
            kernel_layout=op.kernel_layout.data,
            out_layout=str(op.output_layout),
        )
        self._replace(op, made)

    def _pack_channels(self, op: graph.ConvOp, rounded: SSAValue, data: Layout, kernel: Layout) -> None:
        """Replace a convolution of feature maps in blocks, of which two neighbours are in a block."""
        block = self._lanes
        shape = [*dims_of(op.w.type)[:-2], Dim.of(block // 2), Dim.of(block)]
        made = graph.ConvOp(
            self._pairs(rounded, op),
            self._constants.of(op.w, "pairs", shape, _blocks, i32),
            strides=op.strides.get_values(),
            dilations=op.dilations.get_values(),
            pads=op.pads.get_values(),
            groups=op.groups.value.data,
            pairs=True,
            data_layout=_of_half_blocks(data, "C", block),
            kernel_layout=_of_half_blocks(kernel, "I", block),
            out_layout=str(op.output_layout),
        )
        self._replace(op, made)

    def pack_attention(self, op: graph.AttentionOp) -> None:
        """Let attention round its factors itself, in pairs; its weights by softmax too."""
        depth, factors = dims_of(op.q.type)[-1], [unrounded(x) for x in (op.q, op.k, op.v)]
        given = [x for x in factors if x is not None]
        if len(given) < len(factors) or not depth.is_static or depth.value % 2:
            return
        mask = [] if op.mask is None else [op.mask]
        self._replace(op, op.on([*given, *mask], pairs=bool_attr(True)))

    def _pairs(self, value: SSAValue, before: GraphOp) -> SSAValue:
        """A tensor of bf16 as i32 elements: a view of the same memory."""
        if value not in self._views:
            emit = IRBuilder.before(before)
            self._views[value] = emit.value(graph.WordsOp(emit.value(graph.BitcastOp(value, i16))))
        return self._views[value]

    def _replace(self, op: GraphOp, product: GraphOp) -> None:
        """Replace an op by an op on f32, with a cast back to the type of the old result."""
        adopt_location(product, op.location)
        made: list[GraphOp] = [product]
        if (element := element_of_value(op.results[0])) != f32:
            made.append(graph.CastOp(product.results[0], element))
            adopt_location(made[-1], op.location)
        Rewriter.replace_op(op, made, [made[-1].results[0]])
        count("products packed")


def _of_half_blocks(layout: Layout, letter: str, block: int) -> str:
    """A blocked layout of a tensor whose elements are pairs along the blocks of an axis."""
    return str(layout).replace(f"{block}{letter.lower()}", f"{block // 2}{letter.lower()}")


def paired(array: Array, axis: int) -> Array:
    """Neighbours along an axis, rounded to bf16, in one i32 each, the first in the lower half."""
    moved = np.moveaxis(array.astype(dtype_of(bf16)), axis, -1)
    return np.ascontiguousarray(np.moveaxis(np.ascontiguousarray(moved).view("<i4"), -1, axis))


def _panels(transposed: bool, width: int, b: Array) -> Array:
    """A matrix [K, N], or [N, K] if transposed, as pairs in panels [N / width, K / 2, width]."""
    pairs = paired(b.T if transposed else b, 0)
    return np.ascontiguousarray(pairs.reshape(pairs.shape[0], -1, width).transpose(1, 0, 2))


def _rows(before: int, pairs: int, w: Array) -> Array:
    """Filters [O, I, spatial, o] as pairs along a row, with zeros before and after its taps."""
    taps = w.ndim - 2
    padding = [(0, 0)] * w.ndim
    padding[taps] = before, 2 * pairs - before - w.shape[taps]
    return paired(np.pad(w, padding), taps)


def _blocks(w: Array) -> Array:
    """Filters in blocks [O, I, spatial, i, o] as pairs along i."""
    return paired(w, w.ndim - 2)
