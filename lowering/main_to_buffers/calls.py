"""Patterns for kernel and host calls of `@main`, weights, views, and the return."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IndexType, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, runtime_calls
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_program import WEIGHT
from stepwell.dialects.types import Tensor, WeightAttr
from stepwell.lowering.main_to_buffers.conversion import MainPattern
from stepwell.lowering.main_to_buffers.facts import memref_of
from stepwell.lowering.main_to_buffers.live_buffers import VIEWS
from stepwell.lowering.main_to_buffers.plan import Shaped


class KernelCallLowering(MainPattern):
    """
    A kernel call with buffers, scratch and the values of the kernel's symbols.

    ```mlir
    %y = func.call @k(%x, %N) : (tensor<?x4xf32, #graph.dims<["N", 4]>>, index) -> tensor<4xf32>
    // ->
    func.call @k(%x, %y, %N) : (memref<?x4xf32>, memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.CallOp, rewriter: PatternRewriter) -> None:
        main = self.main
        given = main.expanded([value for value in op.arguments if not isinstance(value.type, IndexType)])
        results = main.expanded(op.results)
        if (scratch := main.plan.scratch.get(op)) is not None:
            results.append(main.view(Shaped(scratch, BYTES, (scratch.size,))))
        sizes = [value for value in op.arguments if isinstance(value.type, IndexType)]
        main.builder.insert(
            func.CallOp.create(operands=[*given, *results, *sizes], properties={"callee": op.callee})
        )
        main.finish(op)


class HostCallLowering(MainPattern):
    """
    A host call with a number per object, and address and dimensions per tensor; unknown ones are results.

    ```mlir
    %y, %n = graph.host_call "numpy" "host.unique" payload "{}" (%x) defines ["data_0"] :
      (tensor<8xf32>) -> (tensor<?xf32, #graph.dims<["data_0"]>>, index)
    %r = func.call @k(%y, %n) : (tensor<?xf32, #graph.dims<["data_0"]>>, index) -> tensor<4xf32>
    // ->
    %eight = arith.constant 8 : index
    %unset = arith.constant 0 : index
    %later = arith.constant -1 : index
    %p, %n = sched.host_call 0 (%x, %eight, %unset, %later) reads [2, 3] :
      (memref<8xf32>, index, index, index) -> (memref<?xi8>, index)
    %y = memref.view %p[%unset][%n] : memref<?xi8> to memref<?xf32>
    func.call @k(%y, %r, %n) : (memref<?xf32>, memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.HostCallOp, rewriter: PatternRewriter) -> None:
        main, extent = self.main, self.main.builder.extent
        numbers: list[SSAValue] = []
        reads: dict[SSAValue, int] = {}
        own = dict(defined_symbols(op))
        for value in (*op.arguments, *op.values):
            pieces = main.pieces(value)
            makes = value in op.results and isinstance(pieces, Shaped) and pieces.buffer.kind == "host"
            if makes:
                reads[value] = len(numbers)
            numbers += [extent(0)] if makes else main.values(pieces)
            for dim in main.dims(value):
                if str(dim) in own:
                    reads.setdefault(own[str(dim)], len(numbers))
                numbers.append(extent(-1 if dim.symbols() & own.keys() else dim))
        types = [IndexType() if isinstance(value.type, IndexType) else BYTES for value in reads]
        call = runtime_calls.HostCallOp(main.plan.callees[op], numbers, list(reads.values()), types)
        main.builder.insert(call)
        found = dict(zip(reads, call.results, strict=True))
        for value, result in found.items():
            if value not in own.values():
                main.remember(value, result)
        for name, value in own.items():
            main.define(name, found[value])
        main.finish(op)


class ConstantLowering(MainPattern):
    """
    A constant as a `memref.global` that names its weight.

    ```mlir
    %w = graph.constant dense<1.0> : tensor<4xf32>
    %y = func.call @k(%w) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %w = memref.get_global @w0 : memref<4xf32>
    func.call @k(%w, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConstantOp, rewriter: PatternRewriter) -> None:
        main, value = self.main, op.properties["value"]
        name = f"w{main.plan.shaped[op.results[0]].buffer.index}"
        type = memref_of(cast(Tensor, op.results[0].type))
        initial = UnitAttr() if isinstance(value, WeightAttr) else value
        weight = memref.GlobalOp.get(StringAttr(name), type, initial, constant=UnitAttr(), alignment=64)
        weight.attributes[WEIGHT] = value
        main.builder.insert(weight, InsertPoint.before(main.function))
        main.remember(op.results[0], main.builder.value(memref.GetGlobalOp(name, type)))
        main.finish(op)


class ViewLowering(MainPattern):
    """
    A view of a tensor, which is its buffer in another shape: each use makes a view of the buffer itself.

    ```mlir
    %v = graph.reshape %x shape <[2, 4]> : tensor<8xf32> -> tensor<2x4xf32>
    %y = func.call @k(%v) : (tensor<2x4xf32>) -> tensor<4xf32>
    // ->
    %v = memref.reinterpret_cast %x to offset: [0], sizes: [2, 4], strides: [4, 1]
      : memref<8xf32> to memref<2x4xf32>
    func.call @k(%v, %y) : (memref<2x4xf32>, memref<4xf32>) -> ()
    ```
    """

    takes: ClassVar[tuple[type[Operation], ...]] = VIEWS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.main.finish(op)


class ReturnLowering(MainPattern):
    """
    The end of `@main`: results that no kernel could write into the caller's buffers are copied there.

    ```mlir
    %y = graph.squeeze %x axes [0] : tensor<1x4xf32> -> tensor<4xf32>
    // ->
    %v = memref.reinterpret_cast %x to offset: [0], sizes: [4], strides: [1]
      : memref<1x4xf32> to memref<4xf32>
    "memref.copy"(%v, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.ReturnOp, rewriter: PatternRewriter) -> None:
        main = self.main
        for value, index in main.plan.copies:
            source, shaped = main.memref(value), main.plan.shaped[value]
            if main.plan.has_late_shape(value):
                view = main.view_of(main.allocated(index, shaped.buffer.size), shaped)
            else:
                view = main.output(index, shaped)
            main.builder.insert(memref.CopyOp(source, view))
        main.builder.insert(func.ReturnOp())
        main.finish(op)
