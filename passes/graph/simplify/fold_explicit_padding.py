"""`fold-explicit-padding`: `graph.pad` ops before convolutions and pools merge into their pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import parse_layout


@dataclass(frozen=True)
class FoldExplicitPaddingPass(FunctionPass):
    """
    Merge a `graph.pad` before a convolution or pool into the pads of that op.

    Only where the pad's value is the one that the window sees outside of its input: 0 for a convolution and
    for a mean that counts pads, the lowest number for a maximum.

    Class: exact. Pads must be known: run `dynamic-to-static` before.
    """

    name = "fold-explicit-padding"
    numerics = Numerics.EXACT

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        apply_patterns(func.body, padding_patterns(weights_of(ctx)))


def padding_patterns(weights: WeightStore) -> list[RewritePattern]:
    """The patterns of `fold-explicit-padding`, which `flatten-atrous-conv` applies too."""
    return [FoldPadIntoConv(weights), FoldPadIntoPool(weights)]


@dataclass
class FoldPadIntoConv(RewritePattern):
    """
    Merge a spatial pad with zeros into the pads of a convolution.

    ```mlir
    %p = graph.pad %x pads <[0, 0, 1, 1, 0, 0, 2, 2]> mode "constant"
      : tensor<1x3x8x8xf32> -> tensor<1x3x11x11xf32>
    %y = graph.conv %p, %w strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<1x3x11x11xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x5xf32>
    // ->
    %y = graph.conv %x, %w strides [2, 2] dilations [1, 1] pads [1, 1, 2, 2]
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x5x5xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter) -> None:
        found = _spatial_pads(op.x, op.data_layout.data, self.weights)
        if found is None or found[1] != 0:
            return
        assert isinstance(pad := op.x.owner, graph.PadOp)
        op.operands[0] = pad.input
        op.pads = _sum(op.pads.get_values(), found[0])
        rewriter.notify_op_modified(op)


@dataclass
class FoldPadIntoPool(RewritePattern):
    """
    Merge a spatial pad into a pool's pads: with the lowest number for a maximum, with zeros for a mean.

    A mean counts the pads in its divisor afterwards.

    ```mlir
    %low = graph.constant dense<0xFF800000> : tensor<f32>
    %p = graph.pad %x with %low : tensor<f32> pads <[0, 0, 1, 1, 0, 0, 1, 1]> mode "constant"
      : tensor<1x3x8x8xf32> -> tensor<1x3x10x10xf32>
    %y = graph.pool %p kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
      : tensor<1x3x10x10xf32> -> tensor<1x3x5x5xf32>
    // ->
    %y = graph.pool %x kind "max" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1]
      : tensor<1x3x8x8xf32> -> tensor<1x3x5x5xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter) -> None:
        found = _spatial_pads(op.x, op.data_layout.data, self.weights)
        # With `ceil`, a last window may start in the cells of a `graph.pad`, but not in the pool's own pads;
        # indices count cells of the padded tensor.
        if found is None or op.ceil.value.data or op.indices.data != "none":
            return
        pads, value = found
        own = op.pads.get_values()
        counts = bool(op.count_include_pad.value.data)
        if op.kind.data == "max":
            fits = value == _lowest(op.x) and _windows_meet_cells(op, pads)
        else:
            fits = op.kind.data == "avg" and value == 0 and (counts or not any(own))
        if not fits:
            return
        assert isinstance(pad := op.x.owner, graph.PadOp)
        op.operands[0] = pad.input
        op.pads = _sum(own, pads)
        op.count_include_pad = BoolAttr.from_bool(counts or op.kind.data == "avg")
        rewriter.notify_op_modified(op)


def _spatial_pads(value: SSAValue, layout: str, weights: WeightStore) -> tuple[list[int], float | int] | None:
    """The spatial pads (begins, then ends) and the number of the constant pad that makes a value, or None."""
    op = value.owner
    if not isinstance(op, graph.PadOp) or op.pads is None or op.mode.data != "constant":
        return None
    filled = None if op.value is None else constant_of(op.value, weights)
    if op.value is not None and filled is None:
        return None
    pads, rank = op.pads.get(), len(dims_of(value.type))
    if not all(pad.is_static and pad.value >= 0 for pad in pads):
        return None
    axes = parse_layout(layout)
    spatial = [axes.axis(letter) for letter in axes.spatial]
    if any(pad != 0 for i, pad in enumerate(pads) if i % rank not in spatial):
        return None
    number = 0 if filled is None else filled.reshape(()).item()
    return [pads[i].value for i in (*spatial, *(rank + axis for axis in spatial))], number


def _lowest(value: SSAValue) -> float | int:
    """The initial value of a maximum in a tensor's element type: -inf, or the least integer."""
    dtype = dtype_of(tensor_of(value).element_type)
    return int(np.iinfo(dtype.name).min) if dtype.kind in "iu" else -np.inf


def _windows_meet_cells(op: graph.PoolOp, pads: Sequence[int]) -> bool:
    """Whether each window of a pool, with `pads` added, contains a cell that is no pad."""
    rank = len(pads) // 2
    own, kernel = op.pads.get_values(), op.kernel.get_values()
    return all(
        own[i] + pads[i] < kernel[i % rank] and op.dilations.get_values()[i % rank] == 1
        for i in range(2 * rank)
    )


def _sum(a: Sequence[int], b: Sequence[int]) -> DenseArrayBase[I64]:
    return DenseArrayBase.from_list(i64, [x + y for x, y in zip(a, b, strict=True)])
