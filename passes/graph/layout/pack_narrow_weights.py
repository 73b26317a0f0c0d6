"""`pack-narrow-weights`: weights of 2 or 4 bits an element are stored several to a byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Float4E2M1FNType, IntegerType, Signedness
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import tensor_of
from stepwell.passes.base import FunctionPass
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array

BITS: Mapping[Attribute, int] = {
    **{IntegerType(4, sign): 4 for sign in (Signedness.SIGNLESS, Signedness.UNSIGNED)},
    **{IntegerType(2, sign): 2 for sign in (Signedness.SIGNLESS, Signedness.UNSIGNED)},
    Float4E2M1FNType(): 4,
}
"""Maps the element types that are stored several to a byte to their width in bits."""


@dataclass(frozen=True)
class PackNarrowWeightsPass(FunctionPass):
    """
    Store constants of 2-bit or 4-bit elements several to a byte, in the artifact and in memory at run time.

    ```mlir
    %w = graph.constant … : tensor<64x128xi4>
    // ->
    %0 = graph.constant … : tensor<4096xui8>
    …                                             // mask, shift, read as i4
    %w = graph.reshape %6 shape <[64, 128]> : tensor<8192xi4> -> tensor<64x128xi4>
    ```
    The unpacking ops are elementwise, so they are fused into the kernel that reads the weights.

    Class: exact.
    """

    name = "pack-narrow-weights"

    min_elems: int = 4096
    """Constants with fewer elements are not packed."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        weights = weights_of(ctx)
        for op in list(func.walk()):
            if isinstance(op, graph.ConstantOp):
                self._pack(op, weights)

    def _pack(self, op: graph.ConstantOp, weights: WeightStore) -> None:
        element = tensor_of(op.result).element_type
        bits = BITS.get(element)
        array = None if bits is None else constant_of(op.result, weights)
        if bits is None or array is None or array.size < self.min_elems:
            return
        name = op.result.name_hint or op.name

        inserted = IRBuilder.before(op).value

        def constant(value: Array) -> SSAValue:
            return inserted(graph.ConstantOp.of(value, weights, name))

        packed = constant(packed_parts(array, bits))
        mask = constant(np.array((1 << bits) - 1, np.uint8))
        parts: list[SSAValue] = []
        for low in range(0, 8, bits):
            part = (
                packed if not low else inserted(graph.ShiftRightOp(packed, constant(np.array(low, np.uint8))))
            )
            part = part if low + bits == 8 else inserted(graph.AndOp(part, mask))
            parts.append(inserted(graph.BitcastOp(part, element)))
        codes = inserted(graph.ConcatOp(parts, 0))
        if array.size % (8 // bits):
            codes = inserted(graph.SliceOp(codes, [0], [array.size], [1]))
        last = graph.ReshapeOp(codes, array.shape)
        adopt_location(last, op.location)
        Rewriter.replace_op(op, last)


def packed_parts(array: Array, bits: int) -> Array:
    """
    A tensor packed in bytes [⌈elements · bits / 8⌉], its first half (or quarter) in the lowest bits of all.

    A kernel unpacks each part from consecutive bytes, not from every second one.
    """
    codes = array.view(np.uint8).reshape(-1) & ((1 << bits) - 1)
    codes = np.pad(codes, (0, -len(codes) % (8 // bits))).reshape(8 // bits, -1)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)[:, None]
    return np.bitwise_or.reduce(codes << shifts, axis=0).astype(np.uint8)
