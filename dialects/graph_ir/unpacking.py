"""Elements of a few bits that share bytes: they stay packed until a kernel takes them apart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning import Array


def unpacked(
    packed: SSAValue,
    bits: int,
    count: int | Dim,
    emit: Callable[[Operation], SSAValue],
    constant: Callable[[Array], SSAValue],
) -> SSAValue:
    """
    The first elements of each row of a matrix of u8, one a byte; the lowest bits of a byte come first.

    ```mlir
    %0 = graph.expand_dims %packed axes [2] : tensor<8x16xui8> -> tensor<8x16x1xui8>
    %1 = graph.shift_right %0, %shifts : (tensor<8x16x1xui8>, tensor<2xui8>) -> tensor<8x16x2xui8>
    %2 = graph.and %1, %mask : (tensor<8x16x2xui8>, tensor<ui8>) -> tensor<8x16x2xui8>
    %y = graph.reshape %2 shape <[8, 32]> : tensor<8x16x2xui8> -> tensor<8x32xui8>
    ```
    Args: `packed` [rows, bytes]; `bits` 2, 4 or 8 an element.
    """
    rows, size = dims_of(packed.type)
    per_byte = 8 // bits
    if per_byte > 1:
        shifts = constant(np.arange(0, 8, bits, dtype=np.uint8))
        shifted = emit(graph.ShiftRightOp(emit(graph.ExpandDimsOp(packed, [2])), shifts))
        codes = emit(graph.AndOp(shifted, constant(np.array((1 << bits) - 1, np.uint8))))
        packed = emit(graph.ReshapeOp(codes, [rows, size * per_byte]))
    if (size * per_byte).proves_equal(count):
        return packed
    return emit(graph.SliceOp(packed, [0, 0], [rows, count], [1, 1]))
