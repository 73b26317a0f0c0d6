"""`compute-in-products`: products by few rows compute their weight operand, elementwise, in registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.expand_loops import expanded, is_elementwise
from stepwell.dialects.tensor_ir.rewrites.inlining import inline_producer
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    map_dims,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.passes.tensor.schedule.contraction import Product, neighbours
from stepwell.passes.tensor.scheduling_pass import SchedulingPass


@dataclass(frozen=True)
class ComputeInProductsPass(SchedulingPass):
    """
    Inline the elementwise op that computes a matrix into products of floats by few rows.

    Weights that are dequantized are then never written as floats: a 2048x2048 matrix by one row reads 4 MiB
    instead of writing and reading 16 MiB more (1080 to 440 us). A split of the matrix's dimensions, such as
    into blocks of one scale, becomes loops of the product, so that a scale is read once a block.

    ```mlir
    %w = linalg.generic {… (b, k, n) -> (b, k, n), (b, k, n) -> (b, n) …} ins(%codes, %scales) …
    %v = tensor.collapse_shape %w [[0, 1], [2]] : tensor<64x32x512xf32> into tensor<2048x512xf32>
    %r = linalg.generic {… (m, n, k) -> (m, k), (m, n, k) -> (k, n) …} ins(%x, %v) …
    // ->
    %y = tensor.expand_shape %x [[0], [1, 2]] … : tensor<1x2048xf32> into tensor<1x64x32xf32>
    %r = linalg.generic {… (m, n, b, k) -> (m, b, k), (m, n, b, k) -> (b, k, n), (m, n, b, k) -> (b, n) …}
         ins(%y, %codes, %scales) …  // convert, scale, multiply, add
    ```
    Matrices of less than `min-elems` stay what they are. Runs before `choose-schedules`.
    Source: `compute_inline` of TVM and Halide.
    """

    name = "compute-in-products"
    opt_level = 2

    min_elems: int = 16384

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        for op in list(func.body.block.ops):
            if isinstance(op, GenericOp) and (position := self._computed(op)) is not None:
                product = _on_split_dims(op, position)
                if isinstance(maker := product.inputs[position].owner, GenericOp):
                    inline_producer(product, position, maker)
                    Rewriter.erase_op(maker)

    def _computed(self, op: GenericOp) -> int | None:
        """The position of a matrix that an elementwise op computes for this product alone, if any."""
        view = Structured.of(op)
        product = None if view is None else Product.of(view)
        if view is None or product is None or tensor_element(view.inits[0]) != f32:
            return None
        out = projected_permutation(view.init_maps[0])
        for position in product.operands:
            map, shape = view.maps[position], tensor_shape(view.inputs[position])
            own = map_dims(map)
            rows = [n for d, n in enumerate(view.extents) if view.parallel[d] and d not in own]
            if (
                out
                and neighbours(map) == out[-1]
                and projected_permutation(map) is not None
                and prod(n or PRODUCTS.computing_rows + 1 for n in rows) <= PRODUCTS.computing_rows
                and min(shape) > 0
                and prod(shape) >= self.min_elems
                and _maker(op, position) is not None
            ):
                return position
        return None


def _maker(op: GenericOp, position: int) -> GenericOp | None:
    """The elementwise op that computes an operand for this product alone, directly or collapsed."""
    value = op.inputs[position]
    if isinstance(value.owner, tensor.CollapseShapeOp) and value.has_one_use():
        value = value.owner.src
    maker = value.owner
    if not isinstance(maker, GenericOp) or not value.has_one_use() or not is_elementwise(maker):
        return None
    *reads, write = [map.data for map in maker.indexing_maps]
    is_plain = write == AffineMap.identity(len(maker.iterator_types)) and not maker.body.block.args[-1].uses
    return maker if is_plain and all(projected_permutation(map) is not None for map in reads) else None


def _on_split_dims(op: GenericOp, position: int) -> GenericOp:
    """The product with loops over the dimensions of its operand before `tensor.collapse_shape`."""
    view = op.inputs[position].owner
    if not isinstance(view, tensor.CollapseShapeOp):
        return op
    before = op.prev_op
    made = expanded(op)
    if made is None:
        return op
    Rewriter.erase_op(view)
    while not isinstance(made, GenericOp):
        assert made is not None and made is not before
        made = made.prev_op
    return made
