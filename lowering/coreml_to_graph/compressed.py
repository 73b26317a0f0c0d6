"""Weights of few bits, and numbers as integers with a scale."""

from __future__ import annotations

import numpy as np

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value
from stepwell.runtime.interface import Array


@converts("constexpr_affine_dequantize")
def affine_dequantize(call: Call) -> Value:
    """The numbers of codes with a scale and a zero point, of the tensor or of an axis."""
    codes = call.tensor("quantized_data")
    return _dequantized(call, codes, call.axis(codes.rank))


@converts("dequantize")
def dequantize(call: Call) -> Value:
    """The numbers of codes."""
    codes = call.tensor("input")
    return _dequantized(call, codes, call.axis(codes.rank) if call.value("axis") is not None else 0)


def _dequantized(call: Call, codes: Value, axis: int) -> Value:
    zero = call.optional("zero_point")
    op = graph.DequantizeOp(
        codes.ssa, call.tensor("scale").ssa, None if zero is None else zero.ssa, axis=axis
    )
    return call.at.op(op)


@converts("quantize")
def quantize(call: Call) -> Value:
    """The codes of numbers."""
    x, zero = call.tensor("input"), call.optional("zero_point")
    axis = call.axis(x.rank) if call.value("axis") is not None else 0
    op = graph.QuantizeOp(
        x.ssa, call.tensor("scale").ssa, None if zero is None else zero.ssa, to=call.element, axis=axis
    )
    return call.at.op(op)


@converts("constexpr_cast")
def constexpr_cast(call: Call) -> Value:
    """A constant in another element type."""
    return call.tensor("source_val").cast(call.element)


@converts("constexpr_blockwise_shift_scale")
def blockwise_shift_scale(call: Call) -> Value:
    """(data - offset) * scale, with numbers for each block of the axes."""
    data, scale = call.operand_array("data"), call.operand_array("scale")
    element = dtype_of(call.element)
    offset = call.operand_array("offset") if call.optional("offset") is not None else np.zeros_like(scale)
    if data.ndim != scale.ndim or any(n < 1 or m % n for n, m in zip(scale.shape, data.shape, strict=True)):
        raise call.invalid(f"the scales {list(scale.shape)} must divide the shape {list(data.shape)}")
    numbers = np.subtract(data.astype(np.float32), _spread(offset, data)) * _spread(scale, data)
    return call.at.constant(numbers.astype(element))


def _spread(blocks: Array, data: Array) -> Array:
    """The numbers of blocks for each element."""
    spread = blocks.astype(np.float32)
    for axis, size in enumerate(data.shape):
        spread = np.repeat(spread, size // blocks.shape[axis], axis)
    return spread


@converts("constexpr_lut_to_dense")
def lut_to_dense(call: Call) -> Value:
    """The entries of a table at indices, which older programs have packed, several in a byte."""
    indices, table = call.operand_array("indices"), call.operand_array("lut")
    if call.optional("shape") is not None:
        return call.at.constant(_packed_entries(call, indices, table))
    if call.value("vector_axis") is not None and table.shape[-1] != 1:
        raise call.unsupported("a table of vectors")
    groups, entries = list(table.shape)[: indices.ndim], list(table.shape)[indices.ndim]
    if any(n < 1 or m % n for n, m in zip(groups, indices.shape, strict=True)):
        raise call.invalid(f"the tables {groups} must divide the shape {list(indices.shape)}")
    if indices.size and int(indices.max()) >= entries:
        raise call.invalid(f"an index is outside of the {entries} entries of the table")
    table = table.reshape([*groups, entries])
    for axis, (size, count) in enumerate(zip(indices.shape, groups, strict=True)):
        table = np.repeat(table, size // count, axis)
    chosen = np.take_along_axis(table, indices.astype(np.int64)[..., np.newaxis], -1)
    return call.at.constant(chosen[..., 0])


def _packed_entries(call: Call, packed: Array, table: Array) -> Array:
    """The entries at indices of a few bits, the first of which is in the low bits."""
    shape = call.operand_integers("shape")
    bits = max(int(table.size - 1).bit_length(), 1)
    stream = np.unpackbits(packed.reshape(-1).view(np.uint8), bitorder="little")
    count = int(np.prod(shape))
    if table.ndim != 1 or table.size != 1 << bits or min(shape, default=1) < 0 or stream.size < count * bits:
        raise call.invalid(f"{packed.size} bytes and {table.size} entries for the shape {shape}")
    codes = stream[: count * bits].reshape(count, bits) @ (1 << np.arange(bits))
    return table[codes].reshape(shape)
