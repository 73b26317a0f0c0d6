"""Scans: loops along an axis that carry what is combined so far, of rows, of columns or of whole layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, tensor
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.dialects.linalg_builder import row_loops
from stepwell.dialects.linalg_builder.reduction_kinds import KINDS
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.slices import INDICES, layer_of, with_layer
from stepwell.dialects.linalg_builder.sums import accumulator, rounded
from stepwell.dialects.linalg_builder.support import (
    counted_loop,
    elementwise,
    enclosing_kernel,
    extent,
    filled,
)
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


def scan_by_layers(
    op: graph.ScanOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """
    An `scf.for` along the axis, which carries the layer combined so far and the result.

    An exclusive scan writes the layer before the step's own elements are combined with it.
    """
    type, axis = tensor_of(op.result), op.axis.value.data
    dims, kind, kept = dims_of(type), KINDS[op.kind.data], accumulator(type.element_type)
    scalars = Scalars(kept)
    layer = tensor_type(kept, [Dim.of(1) if i == axis else dim for i, dim in enumerate(dims)])
    count = extent(dims[axis], rewriter)
    last = extent(dims[axis] - 1, rewriter) if bool(op.reverse) else None

    def step(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
        so_far, result = carried
        at = index if last is None else rewriter.insert(arith.SubiOp(last, index)).result
        x = layer_of(op.input, {axis: at}, rewriter)
        joined = elementwise(layer, [so_far, x], lambda s: kind.combine(scalars, *s), op, rewriter)
        written = rounded(so_far if bool(op.exclusive) else joined, type.element_type, rewriter)
        return [joined, with_layer(written, result, {axis: at}, rewriter)]

    start = filled(layer, kind.start(scalars), rewriter)
    return counted_loop(count, [start, *inits], step, rewriter)[1:]


def scan_by_columns(
    op: graph.ScanOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """
    The result of a scan whose layers have a known size: blocks of columns, one after the other.

    ```mlir
    %y = scf.for %column = %c0 to %c1024 step %c128 … {
      %so_far, %y = scf.for %row = … iter_args(%so_far = %start, …) {
        %x = vector.transfer_read %input[%row, %column], …
        %next = arith.addf %so_far, %x : vector<128xf32>
        … = vector.transfer_write %next, …
      }
    } {sched.parallel}
    ```
    """
    type, axis = tensor_of(op.result), op.axis.value.data
    dims = dims_of(type)
    # Views with all dimensions after the axis joined to one of columns.
    groups = [*([dim] for dim in dims[: axis + 1]), dims[axis + 1 :]]
    walk = _Columns(op, join_dims(op.input, groups, rewriter), extent(dims[axis], rewriter))
    before = [extent(dim, rewriter) for dim in dims[:axis]]
    result = join_dims(inits[0], groups, rewriter)
    emit = IRBuilder.before(op, Constants(enclosing_kernel(rewriter)))
    columns = prod(dim.value for dim in dims[axis + 1 :])
    block = sizes["columns"]
    whole = columns // block * block

    # Loops over the dimensions before the axis, then over whole blocks of columns, then the remainder.
    def of_layers(emit: IRBuilder, outer: Sequence[SSAValue], result: SSAValue) -> SSAValue:
        def of_layer(emit: IRBuilder, i: SSAValue, result: SSAValue) -> SSAValue:
            return of_layers(emit, [*outer, i], result)

        def of_block(emit: IRBuilder, first: SSAValue, result: SSAValue) -> SSAValue:
            return walk.down(emit, outer, first, block, result)

        if len(outer) < len(before):
            return emit.fold(0, before[len(outer)], 1, result, of_layer, parallel=True)
        if columns <= block:
            return walk.down(emit, outer, 0, columns, result)
        if whole:
            result = emit.fold(0, whole, block, result, of_block, parallel=True)
        return walk.down(emit, outer, whole, columns - whole, result) if columns > whole else result

    result = of_layers(emit, [], result)
    rewriter.insertion_point = emit.insertion_point
    return [split_dims(result, groups, rewriter)]


@dataclass(frozen=True)
class _Columns:
    """A scan of `input` along its second to last dimension; the last dimension has the columns."""

    op: graph.ScanOp
    input: SSAValue
    count: SSAValue

    def down(
        self, emit: IRBuilder, outer: Sequence[SSAValue], first: Index, width: int, result: SSAValue
    ) -> SSAValue:
        """The tensor `result` with the scan of `width` columns from `first` on written into it."""
        scalars, kind = Scalars(tensor_of(self.input).element_type), KINDS[self.op.kind.data]
        vector, column = vector_type(scalars.type, (width,)), emit.materialize(first)
        start = emit.number(kind.start(scalars), scalars.type)
        last = emit.minus(self.count, 1) if bool(self.op.reverse) else None

        def step(emit: IRBuilder, index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            so_far, result = carried
            row = index if last is None else emit.materialize(emit.minus(last, index))
            at, lanes = [*outer, row, column], (len(outer) + 1,)
            joined = kind.combine(scalars, so_far, read(emit, self.input, at, vector, lanes))
            assert isinstance(joined.owner, Operation)
            joined = emit.value(joined.owner)
            written = so_far if bool(self.op.exclusive) else joined
            return [joined, write(emit, written, result, at, lanes)]

        return emit.loop(0, self.count, 1, [broadcast(emit, start, width), result], step)[1]


def scan_by_rows(
    op: graph.ScanOp, inits: Sequence[SSAValue], sizes: Mapping[str, int], rewriter: PatternRewriter
) -> Sequence[SSAValue]:
    """The result of a scan along the innermost axis, row by row, with scalars."""
    type, axis = tensor_of(op.result), op.axis.value.data
    dims, scalars, kind = dims_of(type), Scalars(type.element_type), KINDS[op.kind.data]
    count, inner = extent(dims[axis], rewriter), len(dims) - axis - 1

    def row(outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        last = INDICES.subtract(count, INDICES.constant(1))

        def step(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            so_far, result = carried
            position = INDICES.subtract(last, index) if bool(op.reverse) else index
            at = [*outer, position, *[INDICES.constant(0)] * inner]
            read = tensor.ExtractOp(op.input, at, signless(type.element_type)).result
            joined = kind.combine(scalars, so_far, scalars.widen(read))
            stored = scalars.narrow(so_far if bool(op.exclusive) else joined)
            return [joined, tensor.InsertOp(stored, result, at).result]

        start = scalars.constant(kind.start(scalars))
        return row_loops.counted_loop(count, [start, *outputs], step)[1:]

    before = [extent(dim, rewriter) for dim in dims[:axis]]
    return row_loops.row_by_row(before, inits, row, rewriter)
