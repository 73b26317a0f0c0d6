"""`pack-nbits`: products with constant quantized weights read their codes as they are, packed by panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.graph.nbits_products import BYTES_PERMITTED, LEAST_BLOCK, MOST_DIGIT_BITS
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count
from stepwell.passes.graph.layout.rows_of_bytes import rows_of_bytes
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array
from stepwell.runtime.meaning.packed_codes import pack_codes, panels_of

_MOST_STEPS = (1 << 31) // (255 * 128)
"""The most products of a code and a byte whose sum fits 32 bits."""
ACTIVATIONS = ("auto", "f32", "int8")
_FLOAT_ROWS = 4
"""The most rows that stay floats although the model permits bytes: their product waits for weights anyway."""
_Arrange: TypeAlias = Callable[[Array], Array]
_WIDTHS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "int8": 8, "uint8": 8}


@dataclass(frozen=True)
class PackNbitsPass(FunctionPass):
    """
    Join each product with the dequantize of its constant weights of 2, 4 or 8 bits; codes are packed now.

    ```mlir
    %w = graph.dequantize %q, %s axis 1 block 32 to f32 : (tensor<64x80xi4>, tensor<64x3xf32>) -> …
    %y = graph.matmul %x, %w transpose_b true : (tensor<?x80xf32>, tensor<64x80xf32>) -> tensor<?x64xf32>
    // ->
    %y = graph.matmul_nbits %x, %p, %t columns 64 bits 4 block 32
      : (tensor<?x80xf32>, tensor<2x12x32xi32>, tensor<2x3x32xf32>) -> tensor<?x64xf32>
    ```
    Weights are never floats in memory for few rows, and for many a panel at a time. Signed codes become
    unsigned ones, their zero points as well. A scale for all steps of a column is one block of them.

    Class: rounding (zero points meet sums, not weights); approximate where rows become bytes.
    """

    name = "pack-nbits"
    opt_level = 2
    numerics = Numerics.ROUNDING

    lanes: int = 16
    """The elements of a vector register."""
    digits: bool = False
    """Whether kernels turn numbers of rows into digits, where codes have few enough bits."""
    min_elems: int = 4096
    """Weights with fewer elements stay what they are."""
    activations: str = "f32"
    """
    `f32`, or `int8`: each block of a row becomes bytes with a scale before the product; `auto` does that to
    more than a few rows where the model permits it, as accuracy level 4 of MatMulNBits does.
    """

    def numerics_with_options(self) -> Numerics:
        """Rows that become bytes lose digits."""
        return self.numerics if self.activations == "f32" else Numerics.APPROXIMATE

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.activations not in ACTIVATIONS:
            names = ", ".join(ACTIVATIONS)
            message = f"pack-nbits takes activations {names}, found {self.activations!r}"
            raise StepwellError("bad-option", None, message)
        if self.lanes == 1:  # a target without vectors
            return
        weights = weights_of(ctx)
        for op in list(func.walk()):
            if isinstance(op, graph.MatmulOp) and (found := _Weights.of(op, weights, self.min_elems)):
                has_digits = self.digits and found.bits <= MOST_DIGIT_BITS
                panel = self.lanes * NBITS.registers(with_digits=has_digits)
                _rewrite(op, found, panel, weights, self._least_rows_of_bytes(op, found))
                count("products packed")

    def _least_rows_of_bytes(self, op: graph.MatmulOp, found: _Weights) -> int | None:
        """The number of rows from which on they are bytes; None if they never are."""
        is_permitted = BYTES_PERMITTED in op.attributes
        if self.activations == "f32" or found.block > _MOST_STEPS:
            return None
        if self.activations == "int8":
            return 1
        return _FLOAT_ROWS + 1 if is_permitted else None


@dataclass(frozen=True)
class _Weights:
    """Constant weights of a product: a column's codes in a row, with its blocks' scales and zero points."""

    codes: npt.NDArray[np.uint8]
    """[columns, K]."""
    scales: npt.NDArray[np.float32]
    """[columns, blocks]."""
    points: npt.NDArray[np.uint8] | None
    """[columns, blocks]; None where all are the middle code."""
    bits: int
    block: int

    @staticmethod
    def of(op: graph.MatmulOp, weights: WeightStore, min_elems: int) -> _Weights | None:
        """The weights of a product of f32 with a dequantized constant matrix; None for others."""
        source, transposed = op.b.owner, bool(op.transpose_b.value.data)
        if not isinstance(source, graph.DequantizeOp) or not _reads_rows(op):
            return None
        bits = _WIDTHS.get(dtype_of(element_of_value(source.input)).name)
        steps_axis, size = int(transposed), dims_of(source.input.type)
        if bits is None or source.to != f32 or len(size) != 2 or not all(dim.is_static for dim in size):
            return None
        along = source.axis.value.data == steps_axis
        if source.block_size and (not along or source.block_size % LEAST_BLOCK):
            return None
        if not source.block_size and (along or not dims_of(source.scale.type)):
            return None
        if prod(dim.value for dim in size) < max(min_elems, 1):
            return None
        given = (source.input, source.scale, source.zero_point)
        codes, scale, point = (None if v is None else constant_of(v, weights) for v in given)
        if codes is None or scale is None or (source.zero_point is not None and point is None):
            return None
        steps = size[steps_axis].value
        block = source.block_size or -(-steps // LEAST_BLOCK) * LEAST_BLOCK
        return _arranged(partial(_by_column, transposed), codes, scale, point, bits, block)


def _reads_rows(op: graph.MatmulOp) -> bool:
    """Whether a product is of f32 rows, and gives f32."""
    depth = dims_of(op.a.type)[-1:]
    is_f32 = element_of_value(op.a) == f32 and element_of_value(op.result) == f32
    return is_f32 and not op.panel and not op.transpose_a.value.data and depth[0].is_static


def _by_column(transposed: bool, array: Array) -> Array:
    """An array with an entry for each column of the product in its first dimension, blocks in the second."""
    if array.ndim == 1:
        return array[:, None]
    return array if transposed else array.T


def _arranged(
    by_column: _Arrange, codes: Array, scale: Array, point: Array | None, bits: int, block: int
) -> _Weights:
    """Weights with unsigned codes and a zero point for each scale, unless all are the middle code."""
    middle, is_signed = 1 << bits - 1, not codes.dtype.name.startswith("u")

    def unsigned(array: Array) -> npt.NDArray[np.uint8]:
        numbers = by_column(array).astype(np.int16)
        return (numbers + middle if is_signed else numbers).astype(np.uint8)

    scales = by_column(scale).astype(np.float32)
    if point is None:
        points = np.full(scales.shape, middle if is_signed else 0, np.uint8)
    elif point.ndim == 0:
        points = np.broadcast_to(unsigned(point.reshape(1)), scales.shape)
    else:
        points = unsigned(point)
    is_middle = bool((points == middle).all())
    return _Weights(unsigned(codes), scales, None if is_middle else points, bits, block)


def _rewrite(
    op: graph.MatmulOp, found: _Weights, panel: int, weights: WeightStore, least_of_bytes: int | None
) -> None:
    """Replace a product by one with packed weights: of floats, or of bytes from some number of rows on."""
    blocks, insert = found.scales.shape[1], IRBuilder.before(op).value

    def constant(array: Array, name: str) -> SSAValue:
        return insert(graph.ConstantOp.of(array, weights, name))

    name, rows = op.b.name_hint or "weights", prod(dims_of(op.a.type)[:-1], start=Dim.of(1))
    x, x_scales, row_bytes = op.a, None, None
    if least_of_bytes is not None and not (rows.is_static and rows.value < least_of_bytes):
        row_bytes, x_scales = rows_of_bytes(op.a, found.block, weights, insert)
        if least_of_bytes == 1 or rows.is_static:
            x, row_bytes = row_bytes, None
    product = graph.MatmulNbitsOp(
        x,
        constant(pack_codes(found.codes, found.bits, panel, blocks * found.block), f"{name}.codes"),
        constant(panels_of(found.scales, panel), f"{name}.scales"),
        None if found.points is None else constant(panels_of(found.points, panel), f"{name}.points"),
        x_scales,
        row_bytes,
        columns=len(found.codes),
        bits=found.bits,
        block=found.block,
        few=None if row_bytes is None or least_of_bytes is None else least_of_bytes - 1,
    )
    adopt_location(product, op.location)
    Rewriter.replace_op(op, product)
