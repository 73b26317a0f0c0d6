"""Rows of floats as bytes, each block of a row with a scale of its own, for products of integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import i8
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.runtime.files.weights import WeightStore

_GREATEST = 127


def rows_of_bytes(
    x: SSAValue, block: int, weights: WeightStore, insert: Callable[[Operation], SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """
    Bytes, four to an element, and the scale of each block: its greatest magnitude is 127 scales.

    ```mlir
    %0 = graph.reshape %x shape <["M", 2, 32]> : tensor<?x64xf32> -> tensor<?x2x32xf32>
    %1 = graph.abs %0 : …
    %2 = graph.reduce %1 kind "max" axes [2] … : … -> tensor<?x2xf32>
    %scales = graph.multiply %2, %c : …                     // 1 / 127
    %3 = graph.quantize %x, %scales axis 1 block 32 to i8 : …
    %bytes = graph.words %3 : tensor<?x64xi8> -> tensor<?x16xi32>
    ```
    A row that blocks do not divide is padded with zeros.
    """
    *leading, steps = dims_of(x.type)
    rank, fill = len(leading), -steps.value % block
    if fill:
        zero = insert(graph.ConstantOp.of(np.array(0, np.float32), weights))
        pads = [0] * (2 * rank + 1) + [fill]
        x = insert(graph.PadOp(x, pads, value=zero))
    parts = insert(graph.ReshapeOp(x, [*leading, (steps.value + fill) // block, block]))
    greatest = insert(graph.ReduceOp(insert(graph.AbsOp(parts)), "max", [rank + 1], keep_dims=False))
    share = insert(graph.ConstantOp.of(np.array(1 / _GREATEST, np.float32), weights))
    scales = insert(graph.MultiplyOp(greatest, share))
    numbers = insert(graph.QuantizeOp(x, scales, to=i8, axis=rank, block=block))
    return insert(graph.WordsOp(numbers)), scales
