"""Matrix products and convolutions of `com.microsoft`, fused with what follows them → `graph`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.contrib_activation import activated
from stepwell.lowering.onnx_to_graph.contrib_node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.support import element_of
from stepwell.passes.graph.unpacking import unpacked


def _matmul(node: ContribNode) -> SSAValue:
    """alpha · A · B, with the batch first and the rows second where `transBatch` says that it is not so."""
    operands = [_batch_first(node, i, name) for i, name in enumerate(("transBatchA", "transBatchB"))]
    # A vector has no rows to exchange.
    flags = [bool(node.integer(name, 0)) for name in ("transA", "transB")]
    transpose_a, transpose_b = (
        flag and len(node.dims(value)) > 1 for flag, value in zip(flags, operands, strict=True)
    )
    product = graph.MatmulOp(*operands, transpose_a=transpose_a, transpose_b=transpose_b)
    return node.scaled(node.emit(product), node.number("alpha", 1))


def _batch_first(node: ContribNode, position: int, name: str) -> SSAValue:
    """An operand [rows, batch…, columns], where the attribute says so, as [batch…, rows, columns]."""
    value = node.input(position)
    rank = len(node.dims(value))
    if not node.integer(name, 0) or rank < 3:
        return value
    return node.emit(graph.TransposeOp(value, [*range(1, rank - 1), 0, rank - 1]))


def _gemm(node: ContribNode) -> SSAValue:
    """activation(alpha · A · B + beta · C)"""
    transpose_a, transpose_b = (bool(node.integer(name, 0)) for name in ("transA", "transB"))
    product = graph.MatmulOp(node.input(0), node.input(1), transpose_a=transpose_a, transpose_b=transpose_b)
    value = node.scaled(node.emit(product), node.number("alpha", 1))
    beta, bias = node.number("beta", 1), node.optional(2)
    if bias is not None and beta:
        bias = node.scaled(bias, beta)
        is_vector = len(node.dims(bias)) == 1 and dims_of(bias.type)[0].proves_equal(dims_of(value.type)[1])
        value = node.emit(graph.BiasAddOp(value, bias, 1)) if is_vector else node.add(value, bias)
    given = (f"activation_{name}" for name in ("alpha", "beta", "gamma"))
    parameters = [node.number(name, 0) for name in given if name in node.op.arguments.data]
    return activated(node, value, node.text("activation", ""), parameters)


def _conv(node: ContribNode) -> SSAValue:
    """activation(conv(X, W) + B + Z)"""
    x, w = node.input(0), node.input(1)
    kernel = node.dims(w)[2:]
    if node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise node.unsupported(f"auto_pad {node.text('auto_pad', '')} is not supported yet")
    conv = graph.ConvOp(
        x,
        w,
        strides=node.integers("strides"),
        dilations=node.integers("dilations"),
        pads=node.integers("pads") or [0] * 2 * len(kernel),
        groups=node.integer("group", 1),
    )
    value = node.emit(conv)
    if (bias := node.optional(2)) is not None:
        value = node.emit(graph.BiasAddOp(value, bias, 1))
    value = node.add(value, node.optional(3))
    return activated(node, value, node.text("activation", ""), node.list_of("activation_params") or [])


def _matmul_bits(node: ContribNode) -> SSAValue:
    """
    A · Bᵀ + bias, B of a few bits an element: blocks of a row share a scale and a zero point.

    Bytes hold the first element in their lowest bits. Without zero points, the middle of the range is 0.
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
            zero = node.table(np.full((rows, blocks), 1 << (bits - 1), np.uint8))
        else:
            zero = _unpacked(node, points, bits, (rows, blocks), blocks)
        weights = node.emit(graph.DequantizeOp(codes, scales, zero, axis=1, block=block))
    product = graph.MatmulOp(node.input(0), weights, transpose_b=True)
    return node.add(node.emit(product), node.optional(5))


def _unpacked(
    node: ContribNode, packed: SSAValue, bits: int, shape: tuple[int, int], columns: int
) -> SSAValue:
    """The first columns of a matrix of that shape, whose rows take whole bytes, as bytes."""
    rows, width = shape
    packed = node.emit(graph.ReshapeOp(packed, [rows, -(-width * bits // 8)]))
    return unpacked(packed, bits, columns, node.emit, node.table)


def _repeated(node: ContribNode, value: SSAValue, times: int, columns: int) -> SSAValue:
    """Each column of a matrix several times in a row, up to a number of columns."""
    rows, blocks = node.dims(value)
    wide = node.emit(graph.BroadcastToOp(node.emit(graph.ExpandDimsOp(value, [2])), [rows, blocks, times]))
    flat = node.emit(graph.ReshapeOp(wide, [rows, blocks * times]))
    return node.emit(graph.SliceOp(flat, [0, 0], [rows, columns], [1, 1]))


OPERATORS: Mapping[str, Meaning] = {
    "FusedConv": _conv,
    "FusedGemm": _gemm,
    "FusedMatMul": _matmul,
    "MatMulNBits": _matmul_bits,
    "TransposeMatMul": _matmul,
}
"""What each operator of the domain means."""
