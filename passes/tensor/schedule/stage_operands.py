"""`stage-operands`: copy operands of products that are read many times: transposed, widened, without gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.costs.machine import rows_in_cache
from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice
from stepwell.dialects.tensor_ir.structured import (
    Structured,
    generic,
    map_dims,
    projected_permutation,
    tensor_element,
    tensor_shape,
)
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.schedule.contraction import Product, common_sum, neighbours
from stepwell.passes.tensor.schedule.gapless import gapless_copy
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.runtime.machine.target import TargetDescription, target_from


@dataclass(frozen=True)
class StageOperandsPass(SchedulingPass):
    """
    Copy operands of products that are read many times, in an order that vectors or rows do not fit.

    Where both operands are contiguous along the sum, or none along the results, the one that has the columns
    is transposed, so that vectors run along the results; broadcast elements of 16 bits become f32 once. Of a
    feature map that a 1x1 convolution reads with strides, the pixels that are read are copied together.

    ```mlir
    %r = linalg.generic {… (m, n, k) -> (m, k), (m, n, k) -> (n, k), (m, n, k) -> (m, n) …}
         ins(%a, %b : tensor<256x64xf32>, tensor<128x64xf32>) …
    // ->
    %e = tensor.empty() : tensor<64x128xf32>
    %t = linalg.generic {… (d0, d1) -> (d1, d0), (d0, d1) -> (d0, d1) …} ins(%b) outs(%e) …
    %r = linalg.generic {… (m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n) …}
         ins(%a, %t : tensor<256x64xf32>, tensor<64x128xf32>) …
    ```
    Extents that are not known count as small. Runs before `choose-schedules`.
    Source: packing as in Goto, van de Geijn 2008; `cache_read` of TVM.
    """

    name = "stage-operands"
    opt_level = 2

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not is_kernel(func):
            return
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        constants = Constants(func)
        # Steps of recurrences have few rows, and would copy weights again and again: the outer block only.
        for op in list(func.body.block.ops):
            view = Structured.of(op)
            product = None if view is None or SCHEDULE in op.attributes else Product.of(view)
            if product is not None:
                _Stager(product, IRBuilder.before(op, constants), target).run()


class _Stager:
    """Copies operands of one product."""

    def __init__(self, product: Product, emit: IRBuilder, target: TargetDescription):
        self._product = product
        self._view = view = product.view
        self._emit = emit
        self._target = target
        self._inputs = list(view.inputs)
        self._maps = list(view.maps)

    def run(self) -> None:
        """Copy the operands for which it pays, and rebuild the product on the copies."""
        # The columns: transposed, when enough rows read them.
        view, out = self._view, projected_permutation(self._view.init_maps[0])
        if not out:
            return
        reaching = [i for i in self._product.operands if out[-1] in map_dims(self._maps[i])]
        if len(reaching) != 1:
            return
        (columns,) = reaching
        rows = next(i for i in self._product.operands if i != columns)
        if tensor_element(view.inits[0]) == f32:
            self._order_and_widen(columns, rows, out[-1])
        if self._uses(rows) >= PRODUCTS.gapless_uses and self._inputs[rows] is view.inputs[rows]:
            copy = gapless_copy(view, rows, self._emit)
            self._inputs[rows], self._maps[rows] = copy or (self._inputs[rows], self._maps[rows])
        if self._maps != list(view.maps) or self._inputs != list(view.inputs):
            self._replace()

    def _order_and_widen(self, columns: int, rows: int, lanes: int) -> None:
        """Transpose the operand of the columns and widen that of the rows, if that pays."""
        view = self._view
        summed = common_sum(self._product, self._target)
        if self._uses(columns) >= self._rows_to_transpose(columns, lanes, summed):
            self._transpose(columns, lanes)
        # The rows: widened to f32, when enough columns read them.
        if (
            self._is_narrow(rows)
            and self._uses(rows) >= PRODUCTS.widening_columns
            and (summed is None or self._maps[columns] != view.maps[columns])
        ):
            self._copy(rows, range(len(self._maps[rows].results)))

    def _rows_to_transpose(self, operand: int, lanes: int, summed: int | None) -> float:
        """
        The fewest rows that pay for transposing an operand; infinity where it is contiguous along the lanes.

        Against sums along the lanes it depends on whether the operand in f32 fits the level-2 cache.
        """
        if neighbours(self._maps[operand]) == lanes:
            return inf
        if summed is None:
            return PRODUCTS.gathering_rows
        shape = tensor_shape(self._inputs[operand])
        is_large = DYNAMIC_INDEX in shape or prod(shape) * element_bytes(f32) > self._target.l2_bytes
        return PRODUCTS.uncached_rows if is_large else PRODUCTS.transposing_rows

    def _uses(self, operand: int) -> int:
        """The number of results that read each element; dynamic extents count as 1."""
        own = map_dims(self._maps[operand])
        extents = [n for d, n in enumerate(self._view.extents) if self._view.parallel[d] and d not in own]
        return prod(1 if n is None else n for n in extents)

    def _is_narrow(self, operand: int) -> bool:
        """Whether an operand has elements of 16 bits whose only uses are extensions to f32."""
        argument = self._view.body.args[operand]
        return all(isinstance(use.operation, arith.ExtFOp) for use in argument.uses) and (
            element_bytes(argument.type) < element_bytes(f32)
        )

    def _transpose(self, operand: int, lanes: int) -> None:
        """Copy an operand with the dimension of the lanes as the last one."""
        dims = projected_permutation(self._maps[operand])
        if dims is None:
            return
        at = dims.index(lanes)
        self._copy(operand, [*(i for i in range(len(dims)) if i != at), at])

    def _copy(self, operand: int, order: Sequence[int]) -> None:
        """Replace an operand by a copy in f32 whose dimensions are in another order."""
        # Maps and body of an elementwise op: read in the old order, widen, write in the new one.
        source, map, emit = self._inputs[operand], self._maps[operand], self._emit
        sizes = [dim_size(emit, source, i) for i in order]
        rank = len(order)
        read = AffineMap(rank, 0, tuple(AffineExpr.dimension(list(order).index(i)) for i in range(rank)))
        block = Block(arg_types=[tensor_element(source), f32])
        value: SSAValue = block.args[0]
        if value.type != f32:
            block.add_op(widening := arith.ExtFOp(value, f32))
            value = widening.result
        block.add_op(linalg.YieldOp(value))
        copy = generic(
            [source],
            [self._destination(sizes)],
            Region(block),
            [read, AffineMap.identity(rank)],
            [IteratorTypeAttr.parallel()] * rank,
        )
        self._inputs[operand] = emit.value(copy)
        self._maps[operand] = AffineMap(map.num_dims, 0, tuple(map.results[i] for i in order))

    def _destination(self, sizes: Sequence[Index]) -> SSAValue:
        """An empty tensor; a slice of a wider one where its rows would share too few level-1 cache sets."""
        *outer, last = sizes
        stride_bytes = last * element_bytes(f32) if isinstance(last, int) else 0
        if rows_in_cache(stride_bytes, self._target) > PRODUCTS.transposed_rows or not isinstance(last, int):
            return self._emit.empty(f32, sizes)
        wide = self._emit.empty(f32, [*outer, last + self._target.f32_lanes])
        start, step = (0,) * len(sizes), (1,) * len(sizes)
        return extract_slice(self._emit, wide, Slice(start, tuple(sizes), step))

    def _replace(self) -> None:
        view = self._view
        assert isinstance(view.op, linalg.GenericOp)
        body = view.op.body.clone()
        for arg, value in zip(list(body.block.args), self._inputs, strict=False):
            _widen_argument(arg, tensor_element(value) if isinstance(value.type, TensorType) else value.type)
        op = generic(self._inputs, view.inits, body, self._maps, view.op.iterator_types.data)
        op.attributes |= view.op.attributes
        for old, new in zip(view.op.results, self._emit.insert(op).results, strict=True):
            old.replace_all_uses_with(new)
        view.op.detach()
        view.op.erase()


def _widen_argument(arg: BlockArgument, element: Attribute) -> None:
    """Change the type of a body's argument to the one it was extended to, and erase the extensions."""
    if arg.type == element:
        return
    conversions = [use.operation for use in arg.uses]
    wide = Rewriter.replace_value_with_new_type(arg, element)
    for op in conversions:
        op.results[0].replace_all_uses_with(wide)
        op.detach()
        op.erase()
