"""Matrix products of `com.microsoft` → `graph`."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, UnitAttr
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.nbits_products import BYTES_PERMITTED
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.graph_ir.unpacking import unpacked
from stepwell.dialects.types import dtype_of
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.support import element_of
from stepwell.runtime.dims import Dim

_LEVEL_OF_BYTES = 4
_U8 = IntegerType(8, Signedness.UNSIGNED)


def _matmul(node: ContribNode) -> SSAValue:
    """alpha · A · B; with `transBatch` an operand has its rows before the batch dimensions."""
    operands = [_batch_first(node, i, name) for i, name in enumerate(("transBatchA", "transBatchB"))]
    # A vector has no rows to exchange.
    flags = [bool(node.integer(name, 0)) for name in ("transA", "transB")]
    transpose_a, transpose_b = (
        flag and len(node.dims(value)) > 1 for flag, value in zip(flags, operands, strict=True)
    )
    product = graph.MatmulOp(*operands, transpose_a=transpose_a, transpose_b=transpose_b)
    return node.scaled(node.emit(product), node.number("alpha", 1))


def _batch_first(node: ContribNode, position: int, name: str) -> SSAValue:
    """An operand [rows, batch…, columns], if the attribute `name` is set, as [batch…, rows, columns]."""
    value = node.input(position)
    rank = len(node.dims(value))
    if not node.integer(name, 0) or rank < 3:
        return value
    return node.emit(graph.TransposeOp(value, [*range(1, rank - 1), 0, rank - 1]))


def _matmul_bits(node: ContribNode) -> SSAValue:
    """
    A · Bᵀ + bias, B of a few bits per element: blocks of a row share a scale and a zero point.

    The first element of a byte is in its lowest bits. Without zero points, the middle of the range is 0.
    Accuracy level 4 permits rows of bytes, with a scale for each block.
    """
    bits, block = node.integer("bits", 4), node.required("block_size")
    rows, columns = node.required("N"), node.required("K")
    if bits not in (2, 4, 8):
        raise node.unsupported(f"{bits} bits are not supported yet")
    node.refuse_inputs(4)
    blocks = -(-columns // block)
    codes = _unpacked(node, node.input(1), bits, (rows, blocks * block), columns)
    scales = node.emit(graph.ReshapeOp(node.input(2), [rows, blocks]))
    points = node.optional(3)
    if points is not None and is_float(element_of(points)):
        points = node.emit(graph.ReshapeOp(points, [rows, blocks]))
        full = [_repeated(node, value, block, columns) for value in (points, scales)]
        codes = node.emit(graph.SubtractOp(node.cast(codes, element_of(scales)), full[0]))
        weights = node.emit(graph.MultiplyOp(codes, full[1]))
    else:
        if points is None:
            middle = np.full((rows, blocks), 1 << (bits - 1), np.uint8)
            zero = node.table(middle.astype(dtype_of(element_of(codes))))
        else:
            zero = _unpacked(node, points, bits, (rows, blocks), blocks)
        weights = node.emit(graph.DequantizeOp(codes, scales, zero, axis=1, block=block))
    product = graph.MatmulOp(node.input(0), weights, transpose_b=True)
    if node.integer("accuracy_level", 0) == _LEVEL_OF_BYTES:
        product.attributes[BYTES_PERMITTED] = UnitAttr()
    return node.add(node.emit(product), node.optional(5))


def _gather_blocks(node: ContribNode) -> SSAValue:
    """Rows of a matrix of a few bits per element, by their indices: only these are unpacked and scaled."""
    data, indices, bits = node.input(0), node.input(1), node.integer("bits", 4)
    rank, block = len(node.dims(data)), node.integer("block_size", 128)
    if rank != 2 or node.axis("gather_axis", 0, data) != 0 or node.axis("quantize_axis", 1, data) != 1:
        raise node.unsupported("other than rows of a matrix with blocks of columns is not supported yet")
    count = prod(node.dims(indices), start=Dim.of(1))
    flat = node.emit(graph.ReshapeOp(indices, [count]))
    taken = [None if x is None else node.emit(graph.GatherOp(x, flat, 0)) for x in (data, *node.inputs[2:4])]
    codes, scales, zero = (*taken, None)[:3]
    assert codes is not None and scales is not None
    if element_of(codes) == _U8:
        columns = node.dims(codes)[1] * (8 // bits)
        codes = unpacked(codes, bits, columns, node.emit, node.table)
        if zero is None:
            middle = node.constant(1 << (bits - 1), _U8)
            zero = node.emit(graph.BroadcastToOp(middle, node.dims(scales)))
        else:
            zero = unpacked(zero, bits, node.dims(scales)[1], node.emit, node.table)
    rows = node.emit(graph.DequantizeOp(codes, scales, zero, axis=1, block=block))
    return node.emit(graph.ReshapeOp(rows, [*node.dims(indices), node.dims(codes)[1]]))


def _unpacked(
    node: ContribNode, packed: SSAValue, bits: int, shape: tuple[int, int], columns: int
) -> SSAValue:
    """
    The first columns of a packed matrix as elements of `bits` bits; each row of `shape` occupies whole bytes.
    """
    rows, width = shape
    element, size = IntegerType(bits, Signedness.UNSIGNED), -(-width * bits // 8)
    if (array := node.array(packed)) is not None:
        # A pass packs a constant again, in the best layout for kernels.
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        codes = (array.view(np.uint8).reshape(rows, size, 1) >> shifts) & ((1 << bits) - 1)
        return node.table(codes.reshape(rows, -1)[:, :columns].astype(dtype_of(element)))
    packed = node.emit(graph.ReshapeOp(packed, [rows, size]))
    return node.cast(unpacked(packed, bits, columns, node.emit, node.table), element)


def _repeated(node: ContribNode, value: SSAValue, times: int, columns: int) -> SSAValue:
    """Each column of a matrix `times` times in a row, cut to `columns` columns."""
    rows, blocks = node.dims(value)
    wide = node.emit(graph.BroadcastToOp(node.emit(graph.ExpandDimsOp(value, [2])), [rows, blocks, times]))
    flat = node.emit(graph.ReshapeOp(wide, [rows, blocks * times]))
    return node.emit(graph.SliceOp(flat, [0, 0], [rows, columns], [1, 1]))


OPERATORS: Mapping[str, Meaning] = {
    "FusedMatMul": _matmul,
    "GatherBlockQuantized": _gather_blocks,
    "MatMulNBits": _matmul_bits,
    "TransposeMatMul": _matmul,
}
"""The operators of this file with their meanings."""
