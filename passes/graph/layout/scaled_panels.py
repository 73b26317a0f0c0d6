"""Panels of block-quantized weights for `pack-weights`: integer codes, scales and zero points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.runtime.files.weights import WeightStore


def scaled_panels(
    op: graph.MatmulOp, width: int, weights: WeightStore, insert: Callable[[Operation], SSAValue]
) -> SSAValue | None:
    """
    The panels [N/width, K, width] of a constant matrix dequantized by blocks along K; None for others.

    ```mlir
    %b = graph.dequantize %w, %s axis 1 block 32 to f32 : (tensor<64x128xi4>, tensor<64x4xf32>) -> …
    // ->
    %p = graph.dequantize %v, %t axis 1 block 32 to f32 : (tensor<1x128x64xi4>, tensor<1x4x64xf32>) -> …
    ```
    """
    source, transposed = op.b.owner, bool(op.transpose_b.value.data)
    if not isinstance(source, graph.DequantizeOp) or source.axis.value.data != int(transposed):
        return None
    depth, block = dims_of(op.b.type)[int(transposed)], source.block_size
    given = (source.input, source.scale, source.zero_point)
    arrays = [None if value is None else constant_of(value, weights) for value in given]
    known = all(array is not None for value, array in zip(given, arrays, strict=True) if value is not None)
    if not block or not width or not known or not depth.is_static or depth.value % block:
        return None

    def panels(array: npt.NDArray[np.generic] | None) -> SSAValue | None:
        if array is None:
            return None
        rows = array.T if transposed else array
        made = np.ascontiguousarray(rows.reshape(rows.shape[0], -1, width).transpose(1, 0, 2))
        return insert(graph.ConstantOp.of(made, weights))

    codes, scale, point = map(panels, arrays)
    assert codes is not None and scale is not None
    return insert(graph.DequantizeOp(codes, scale, point, to=source.to, axis=1, block=block))
