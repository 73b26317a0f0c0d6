"""
`pair-products`: compute sums of bf16 products by instructions for pairs of products, where the target has
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, bf16, f32, i16, i32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.arith import DotBfloatsOp
from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    generic,
    map_dims,
    projected_permutation,
    single_dim,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.passes.base import Numerics
from stepwell.passes.tensor.schedule.contraction import Product, neighbours
from stepwell.passes.tensor.scheduling_pass import SchedulingPass


@dataclass(frozen=True)
class PairProductsPass(SchedulingPass):
    """
    Pack neighbours along a sum of products of bf16 into 32 bits, whose two products one instruction adds.

    For sums of an even number of products that are contiguous in one operand, while the other is contiguous
    along the results; both operands are copied, where enough results read them.

    ```mlir
    %r = linalg.generic {… (m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n) …}
         ins(%a, %b : tensor<128x64xbf16>, tensor<64x32xbf16>) … {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %u = arith.extf %x : bf16 to f32
      %v = arith.extf %y : bf16 to f32
      %p = arith.mulf %u, %v : f32
      %s = arith.addf %sum, %p : f32
    // ->
    %c = linalg.generic {… (d0, d1) -> (d0, 2 * d1), (d0, d1) -> (d0, 2 * d1 + 1), …} ins(%a, %a) …
    %d = linalg.generic {… (d0, d1) -> (2 * d0, d1), (d0, d1) -> (2 * d0 + 1, d1), …} ins(%b, %b) …
    %r = linalg.generic {… the same maps …} ins(%c, %d : tensor<128x32xi32>, tensor<32x32xi32>) … {
    ^bb0(%x: i32, %y: i32, %sum: f32):
      %s = arith.dot_bfloats %x, %y, %sum : i32, f32
    ```
    Class: rounding, but for denormal numbers, which count as zeros: operands and sums below 1.2e-38. Zen 4:
    128x768x768 in 683 us instead of 1343. Runs before `stage-operands`.
    """

    name = "pair-products"
    opt_level = 2
    numerics = Numerics.ROUNDING

    always: bool = False
    """Rewrite for targets without the instruction too."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func) or not (self.always or target_of(ctx).has_bfloat_products):
            return
        constants = Constants(func)
        for op in list(func.body.block.ops):
            view = Structured.of(op)
            product = None if view is None or SCHEDULE in op.attributes else Product.of(view)
            if product is not None and (summed := _pairs_along(product)) is not None:
                _replace(product, summed, IRBuilder.before(op, constants))


def _pairs_along(product: Product) -> int | None:
    """The summed loop along which a product of bf16 can be packed into pairs; None where it cannot."""
    view, out = product.view, projected_permutation(product.view.init_maps[0])
    if not out or len(view.inputs) != 2 or not _multiplies_bfloats(view):
        return None
    columns = [i for i in product.operands if neighbours(view.maps[i]) == out[-1]]
    if len(columns) != 1:
        return None
    rows = 1 - columns[0]
    summed = single_dim(view.maps[rows].results[-1])
    if summed is None or view.parallel[summed] or (view.extents[summed] or 1) % 2:
        return None
    for map in view.maps[:2]:
        if sum(summed in expr.used_dims() for expr in map.results) != 1 or _dim_of(summed, map) is None:
            return None
    return summed if min(_uses(view, i) for i in (0, 1)) >= PRODUCTS.pairing_uses else None


def _multiplies_bfloats(view: Structured) -> bool:
    """Whether a body widens two bf16, multiplies and adds, and nothing else."""
    names = sorted(op.name for op in view.body.ops)
    elements = [tensor_element(value) for value in (*view.inputs, *view.inits)]
    known = ["arith.addf", "arith.extf", "arith.extf", "arith.mulf", "linalg.yield"]
    return names == known and elements == [bf16, bf16, f32]


def _dim_of(loop: int, map: AffineMap) -> int | None:
    """The dimension that is indexed by a loop alone; None when there is none."""
    return next((i for i, expr in enumerate(map.results) if single_dim(expr) == loop), None)


def _uses(view: Structured, operand: int) -> int:
    """The number of results that read each element of an operand; dynamic extents count as 1."""
    own = map_dims(view.maps[operand])
    return prod(n or 1 for d, n in enumerate(view.extents) if view.parallel[d] and d not in own)


def _replace(product: Product, summed: int, emit: IRBuilder) -> None:
    view = product.view
    assert isinstance(view.op, linalg.GenericOp)
    pairs: list[SSAValue] = []
    for value, map in zip(view.inputs, view.maps, strict=False):
        dim = _dim_of(summed, map)
        assert dim is not None
        pairs.append(_paired(value, dim, emit))
    block = Block(arg_types=[i32, i32, f32])
    block.add_op(dot := DotBfloatsOp(*block.args))
    block.add_op(linalg.YieldOp(dot.result))
    op = generic(pairs, view.inits, Region(block), view.maps, view.op.iterator_types.data)
    view.op.results[0].replace_all_uses_with(emit.value(op))
    view.op.detach()
    view.op.erase()


def _paired(value: SSAValue, dim: int, emit: IRBuilder) -> SSAValue:
    """A copy as i32 with two neighbours along a dimension in each element, the first in the lower half."""
    # Even and odd elements along the dimension are two operands of one elementwise op.
    sizes: list[Index] = [dim_size(emit, value, d) for d in range(len(tensor_shape(value)))]
    sizes[dim] = emit.quotient(sizes[dim], 2)
    rank = len(sizes)
    dims = [AffineExpr.dimension(d) for d in range(rank)]
    maps = [
        AffineMap(rank, 0, tuple(2 * e + part if d == dim else e for d, e in enumerate(dims)))
        for part in (0, 1)
    ]
    # The body: lower bits | upper bits << 16.
    block = Block(arg_types=[bf16, bf16, i32])
    bits = [arith.BitcastOp(x, i16) for x in block.args[:2]]
    low, high = (arith.ExtUIOp(x.result, i32) for x in bits)
    half = arith.ConstantOp(IntegerAttr(16, i32))
    raised = arith.ShLIOp(high.result, half.result)
    pair = arith.OrIOp(raised.result, low.result)
    block.add_ops([*bits, low, high, half, raised, pair, linalg.YieldOp(pair.result)])
    maps.append(AffineMap.identity(rank))
    parallel = [IteratorTypeAttr.parallel()] * rank
    return emit.value(generic([value, value], [emit.empty(i32, sizes)], Region(block), maps, parallel))
