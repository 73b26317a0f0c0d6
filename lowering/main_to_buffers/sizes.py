"""Patterns for the sizes of `@main` that depend on data, and for its checks at run time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, runtime_calls
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.types import Tensor
from stepwell.lowering.main_to_buffers.conversion import MainOnBuffers, MainPattern
from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import MAX_TENSOR_BYTES

LARGEST_NUMBER = 1 << 60
"""The bound to which signed numbers are clamped before sizes are computed from them."""
_LARGEST_INDEX = (1 << 62) - 1


class BindSizesLowering(MainPattern):
    """
    The elements of a tensor as sizes, each checked, or split into its positive and negative part.

    ```mlir
    %n = graph.bind_sizes %s names ["data_0"] : tensor<i64> -> index
    %y = func.call @k(%n) : (index) -> tensor<4xf32>
    // ->
    %loaded = memref.load %s[] : memref<i64>
    %n = arith.index_cast %loaded : i64 to index
    %limit = arith.constant 70368744177664 : index
    %fits = arith.cmpi ule, %n, %limit : index
    sched.check %fits row 1 shows %n, %limit
    func.call @k(%y, %n) : (memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BindSizesOp, rewriter: PatternRewriter) -> None:
        main, b = self.main, self.main.builder
        tensor = main.memref(op.input)
        names = [name for name, _ in defined_symbols(op)]
        step = 1 if op.signed is None else 2
        for i in range(0, len(names), step):
            indices = [b.extent(i // step)] * len(main.dims(op.input))
            loaded = b.value(memref.LoadOp.get(tensor, indices))
            size = b.value(arith.IndexCastOp(loaded, INDEX))
            if op.signed is None:
                main.define(names[i], _checked_size(main, op, size))
                continue
            # Far below what overflows; a request for that much means everything.
            bounded = b.least(b.most(size, -LARGEST_NUMBER), LARGEST_NUMBER)
            main.define(names[i], b.materialize(b.most(bounded, 0)))
            main.define(names[i + 1], b.materialize(b.most(b.minus(0, bounded), 0)))
        main.finish(op)


class DefineSizesLowering(MainPattern):
    """
    Sizes computed from others, each checked.

    ```mlir
    %n = graph.define_sizes <["N - 2"]> names ["data_0"] -> index
    %y = func.call @k(%n, %N) : (index, index) -> tensor<4xf32>
    // ->
    %less = arith.constant -2 : index
    %n = arith.addi %N, %less : index
    %limit = arith.constant 70368744177664 : index
    %fits = arith.cmpi ule, %n, %limit : index
    sched.check %fits row 1 shows %n, %limit
    func.call @k(%y, %n, %N) : (memref<4xf32>, index, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DefineSizesOp, rewriter: PatternRewriter) -> None:
        main = self.main
        for dim, (name, _) in zip(op.dims.get(), defined_symbols(op), strict=True):
            main.define(name, _checked_size(main, op, main.builder.extent(dim)))
        main.finish(op)


def _checked_size(main: MainOnBuffers, op: Operation, size: SSAValue) -> SSAValue:
    """A size with a run-time check that it is not negative and at most `MAX_TENSOR_BYTES`."""
    limit = main.builder.extent(MAX_TENSOR_BYTES)
    fits = main.builder.value(arith.CmpiOp(size, limit, "ule"))
    main.builder.insert(runtime_calls.CheckOp(fits, main.plan.rows[op], size, limit))
    return size


class AssertLowering(MainPattern):
    """
    An assertion about sizes that depend on data as a check; one about inputs is checked before the call.

    ```mlir
    %n = graph.define_sizes <["N"]> names ["data_0"] -> index
    graph.assert "data_0" equals "8", "wrong size"
    %y = func.call @k(%N) : (index) -> tensor<4xf32>
    // ->
    %limit = arith.constant 70368744177664 : index
    %fits = arith.cmpi ule, %N, %limit : index
    sched.check %fits row 1 shows %N, %limit
    %eight = arith.constant 8 : index
    %equal = arith.cmpi eq, %N, %eight : index
    sched.check %equal row 2 shows %N, %eight
    func.call @k(%y, %N) : (memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AssertOp, rewriter: PatternRewriter) -> None:
        builder = self.main.builder
        if (row := self.main.plan.rows.get(op)) is not None:
            found, expected = (builder.extent(Dim.of(side.data)) for side in (op.lhs, op.rhs))
            equal = builder.value(arith.CmpiOp(found, expected, "eq"))
            builder.insert(runtime_calls.CheckOp(equal, row, found, expected))
        self.main.finish(op)


class CheckIndicesLowering(MainPattern):
    """
    A loop over indices that finds the least and the greatest, then two checks, for each indexed dimension.

    ```mlir
    graph.check_indices %i within <[5]> : tensor<2x3xi32>
    %y = func.call @k(%i) : (tensor<2x3xi32>) -> tensor<4xf32>
    // ->
    %flat = memref.reinterpret_cast %i to offset: [0], sizes: [6], strides: [1]
      : memref<2x3xi32> to memref<6xi32>
    %six = arith.constant 6 : index
    %most = arith.constant 4611686018427387903 : index
    %least = arith.constant -4611686018427387903 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %low, %high = scf.for %at = %zero to %six step %one
        iter_args(%a = %most, %b = %least) -> (index, index) {
      %loaded = memref.load %flat[%at] : memref<6xi32>
      %index = arith.index_cast %loaded : i32 to index
      %less = arith.minsi %a, %index : index
      %more = arith.maxsi %b, %index : index
      scf.yield %less, %more : index, index
    }
    %five = arith.constant 5 : index
    %first = arith.subi %zero, %five : index
    %above = arith.cmpi sge, %low, %first : index
    sched.check %above row 1 shows %low, %five
    %below = arith.cmpi slt, %high, %five : index
    sched.check %below row 1 shows %high, %five
    func.call @k(%i, %y) : (memref<2x3xi32>, memref<4xf32>) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CheckIndicesOp, rewriter: PatternRewriter) -> None:
        main, builder = self.main, self.main.builder
        extent = prod(main.dims(op.indices), start=Dim.of(1))
        length = extent.value if extent.is_static else DYNAMIC_INDEX
        type = MemRefType(cast(Tensor, op.indices.type).element_type, [length])
        flat = main.reshaped(main.memref(op.indices), type, (extent,))
        sizes, total = op.sizes.get(), builder.extent(extent)
        for column, size in enumerate(sizes):
            # Without indices the loop results are the initial bounds, and both checks pass.
            low, high = _extremes(flat, column, total, len(sizes), builder)
            limit = builder.extent(size)
            least = builder.materialize(0 if op.access is not None else builder.minus(0, limit))
            for found, ok in (
                (low, arith.CmpiOp(low, least, "sge")),
                (high, arith.CmpiOp(high, limit, "slt")),
            ):
                check = runtime_calls.CheckOp(builder.value(ok), main.plan.rows[op], found, limit)
                builder.insert(check)
        main.finish(op)


class CheckAccessesLowering(MainPattern):
    """
    A check that the record of a kernel does not have the number of an access.

    ```mlir
    %f = func.call @k() : () -> tensor<3xi64>
    graph.check_accesses %f number 2 of "x[i]" : tensor<3xi64>
    // ->
    func.call @k(%f) : (memref<3xi64>) -> ()
    %zero = arith.constant 0 : index
    %a = memref.load %f[%zero] : memref<3xi64>
    %one = arith.constant 1 : index
    %b = memref.load %f[%one] : memref<3xi64>
    %two = arith.constant 2 : index
    %c = memref.load %f[%two] : memref<3xi64>
    %found = arith.index_cast %a : i64 to index
    %index = arith.index_cast %b : i64 to index
    %extent = arith.index_cast %c : i64 to index
    %ok = arith.cmpi ne, %found, %two : index
    sched.check %ok row 1 shows %index, %extent
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CheckAccessesOp, rewriter: PatternRewriter) -> None:
        b, record = self.main.builder, self.main.memref(op.record)
        loads = [b.value(memref.LoadOp.get(record, [b.materialize(place)])) for place in range(3)]
        found, index, extent = (b.value(arith.IndexCastOp(load, INDEX)) for load in loads)
        ok = b.value(arith.CmpiOp(found, b.materialize(op.number.value.data), "ne"))
        b.insert(runtime_calls.CheckOp(ok, self.main.plan.rows[op], index, extent))
        self.main.finish(op)


class CheckOffsetsLowering(MainPattern):
    """
    Two checks for each offset: from 0 on, and up to its limit.

    ```mlir
    %n = graph.define_sizes <["N"]> names ["p"] -> index
    graph.check_offsets <["p"]> up_to <[7]>
    %y = func.call @k(%N) : (index) -> tensor<4xf32>
    // ->
    %limit = arith.constant 70368744177664 : index
    %fits = arith.cmpi ule, %N, %limit : index
    sched.check %fits row 1 shows %N, %limit
    %zero = arith.constant 0 : index
    %seven = arith.constant 7 : index
    %above = arith.cmpi sge, %N, %zero : index
    sched.check %above row 2 shows %N, %seven
    %below = arith.cmpi sle, %N, %seven : index
    sched.check %below row 2 shows %N, %seven
    func.call @k(%y, %N) : (memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CheckOffsetsOp, rewriter: PatternRewriter) -> None:
        builder, row = self.main.builder, self.main.plan.rows[op]
        zero = builder.extent(0)
        for at, last in zip(op.offsets.get(), op.limits.get(), strict=True):
            offset, limit = builder.extent(at), builder.extent(last)
            for ok in (arith.CmpiOp(offset, zero, "sge"), arith.CmpiOp(offset, limit, "sle")):
                builder.insert(runtime_calls.CheckOp(builder.value(ok), row, offset, limit))
        self.main.finish(op)


def _extremes(
    flat: SSAValue, first: int, total: SSAValue, step: int, builder: IRBuilder
) -> Sequence[SSAValue]:
    """The least and the greatest of every `step`-th element, by one `scf.for`."""

    def body(inside: IRBuilder, at: SSAValue, bounds: Sequence[SSAValue]) -> list[SSAValue]:
        index = inside.value(arith.IndexCastOp(inside.value(memref.LoadOp.get(flat, [at])), INDEX))
        return [
            inside.materialize(inside.least(bounds[0], index)),
            inside.materialize(inside.most(bounds[1], index)),
        ]

    start = [builder.materialize(_LARGEST_INDEX), builder.materialize(-_LARGEST_INDEX)]
    return builder.loop(first, total, step, start, body)
