"""
Patterns for branches and loops of `@main`: `graph.if`, `for` and `while` as `scf` ops that carry sizes only.

Tensors are in the planned buffers. Memory of a size that depends on data is requested inside and outside of
a region: a slot that is large enough is reused.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.symbols import defined_symbols, positions_of
from stepwell.dialects.types import dims_of
from stepwell.lowering.main_to_buffers.conversion import MainOnBuffers, MainPattern

_INDEX = IndexType()


class IfLowering(MainPattern):
    """
    A branch that leaves its tensors in the buffers of the results, and yields their sizes.

    ```mlir
    %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      %a = func.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %a : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    // ->
    %condition = memref.load %c[] : memref<i1>
    scf.if %condition {
      func.call @k(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    } else {
      "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IfOp, rewriter: PatternRewriter) -> None:
        main = self.main
        condition, values = main.load(op.condition), op.values
        for region in op.regions:
            main.convert_block(region.block, written=values)
        then, otherwise = op.detach_region(0), op.detach_region(0)
        new = main.builder.insert(scf.IfOp(condition, [_INDEX] * len(op.names), then, otherwise))
        main.forget(values)
        _define(main, op, new.results)


class ForLowering(MainPattern):
    """
    A loop from 0 to the count that stores the iteration's number, and carries the sizes of carried tensors.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %b = func.call @k(%a, %i) : (tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    // ->
    "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    %loaded = memref.load %n[] : memref<i64>
    %count = arith.index_cast %loaded : i64 to index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %count step %one {
      %offset = arith.constant 64 : index
      %number = memref.view %arena[%offset][] : memref<?xi8> to memref<i64>
      %stored = arith.index_cast %i : index to i64
      memref.store %stored, %number[] : memref<i64>
      %b = memref.view %arena[%zero][] : memref<?xi8> to memref<4xf32>
      func.call @k(%y, %number, %b) : (memref<4xf32>, memref<i64>, memref<4xf32>) -> ()
      "memref.copy"(%b, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ForOp, rewriter: PatternRewriter) -> None:
        main, b, block = self.main, self.main.builder, op.body.block
        _move(main, op)
        count = b.value(arith.IndexCastOp(main.load(op.count), _INDEX))
        zero, one = b.extent(0), b.extent(1)
        starts = _sizes(main, op.carried_names, main.plan.signatures[op].inputs.data, op.inits)
        number, carried = block.args[0], op.carried
        main.split_arguments(block)
        # After the tensors, which are erased in the end, and before the sizes.
        index = block.insert_arg(_INDEX, 1 + len(carried))

        def begin() -> None:
            _name_sizes(main, op, block)
            memory = main.memref(number)
            stored = main.builder.value(arith.IndexCastOp(index, i64))
            main.builder.insert(memref.StoreOp.get(stored, memory, []))

        main.convert_block(block, begin, written=carried)
        new = b.insert(scf.ForOp(zero, count, one, starts, op.detach_region(op.body)))
        main.forget(carried)
        _define(main, op, _final_sizes(main, op, new.results))


class WhileLowering(MainPattern):
    """
    A loop whose first region loads the condition; both regions take the sizes of carried tensors.

    ```mlir
    %y = graph.while (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %c = func.call @test(%a) : (tensor<4xf32>) -> tensor<i1>
      graph.yield %c : tensor<i1>
    } do (%b: tensor<4xf32>) {
      %d = func.call @k(%b) : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %d : tensor<4xf32>
    }
    // ->
    "memref.copy"(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    scf.while () : () -> () {
      %zero = arith.constant 0 : index
      %c = memref.view %arena[%zero][] : memref<?xi8> to memref<i1>
      func.call @test(%y, %c) : (memref<4xf32>, memref<i1>) -> ()
      %condition = memref.load %c[] : memref<i1>
      scf.condition(%condition)
    } do {
      %zero = arith.constant 0 : index
      %d = memref.view %arena[%zero][] : memref<?xi8> to memref<4xf32>
      func.call @k(%y, %d) : (memref<4xf32>, memref<4xf32>) -> ()
      "memref.copy"(%d, %y) : (memref<4xf32>, memref<4xf32>) -> ()
      scf.yield
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhileOp, rewriter: PatternRewriter) -> None:
        main, carried = self.main, op.carried
        _move(main, op)
        starts = _sizes(main, op.carried_names, main.plan.signatures[op].inputs.data, op.inits)
        for block in (op.test.block, op.body.block):
            main.split_arguments(block)
            main.convert_block(block, lambda block=block: _name_sizes(main, op, block), written=carried)
        regions = [op.detach_region(0), op.detach_region(0)]
        new = main.builder.insert(scf.WhileOp(starts, [_INDEX] * len(starts), *regions))
        main.forget(carried)
        _define(main, op, _final_sizes(main, op, new.results))


class YieldLowering(MainPattern):
    """
    The end of a region: tensors are copied to where they are next, and sizes are yielded.

    ```mlir
    %y, %n = graph.if %c : tensor<i1> defines ["n"] -> (tensor<?xf32, #graph.dims<["n"]>>, index) {
      graph.yield %x : tensor<2xf32>
    } else {
      graph.yield %z : tensor<3xf32>
    }
    %r = func.call @k(%y, %n) : (tensor<?xf32, #graph.dims<["n"]>>, index) -> tensor<4xf32>
    // ->
    %condition = memref.load %c[] : memref<i1>
    %n = scf.if %condition -> (index) {
      %bytes = arith.constant 8 : index
      %m = sched.allocate slot 1, %bytes : memref<?xi8>
      %first = arith.constant 0 : index
      %v = memref.view %m[%first][] : memref<?xi8> to memref<2xf32>
      "memref.copy"(%x, %v) : (memref<2xf32>, memref<2xf32>) -> ()
      %size = arith.constant 2 : index
      scf.yield %size : index
    } else {
      %bytes = arith.constant 12 : index
      %m = sched.allocate slot 1, %bytes : memref<?xi8>
      %first = arith.constant 0 : index
      %v = memref.view %m[%first][] : memref<?xi8> to memref<3xf32>
      "memref.copy"(%z, %v) : (memref<3xf32>, memref<3xf32>) -> ()
      %size = arith.constant 3 : index
      scf.yield %size : index
    }
    %four = arith.constant 4 : index
    %bytes = arith.muli %n, %four : index
    %m = sched.allocate slot 1, %bytes : memref<?xi8>
    %zero = arith.constant 0 : index
    %y = memref.view %m[%zero][%n] : memref<?xi8> to memref<?xf32>
    func.call @k(%y, %r, %n) : (memref<?xf32>, memref<4xf32>, index) -> ()
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.YieldOp, rewriter: PatternRewriter) -> None:
        main, parent = self.main, op.parent_op()
        assert isinstance(parent, graph.ControlFlowOp)
        signature = main.plan.signatures[parent]
        if isinstance(parent, graph.IfOp):
            _move(main, op)
            sizes = _sizes(main, parent.names, signature.outputs.data, op.operands)
            last = scf.YieldOp(*sizes)
        elif isinstance(parent, graph.WhileOp) and op.parent is parent.test.block:
            last = scf.ConditionOp(main.load(op.operands[0]), *_size_arguments(parent, parent.test.block))
        else:
            assert isinstance(parent, graph.LoopOp)
            sizes = _sizes(main, parent.carried_names, signature.inputs.data, op.operands)
            _move(main, op)
            last = scf.YieldOp(*sizes)
        main.builder.insert(last)
        main.finish(op)


def _move(main: MainOnBuffers, at: Operation) -> None:
    """Insert the planned copies before an op: initial values, next values and results to their buffers."""
    for source, target in main.plan.moves.get(at, ()):
        source_view = main.view(source)
        main.forget_memory(target.buffer)
        main.builder.insert(memref.CopyOp(source_view, main.view(target)))


def _define(main: MainOnBuffers, op: graph.ControlFlowOp, values: Sequence[SSAValue]) -> None:
    """Replace an op, and define its symbols for the following ops."""
    for (name, _), value in zip(defined_symbols(op), values, strict=True):
        main.define(name, value)
    main.finish(op)


def _size_arguments(op: graph.LoopOp, block: Block) -> Sequence[SSAValue]:
    """The arguments of a region that are the values of symbols."""
    return block.args[len(block.args) - len(op.carried_names) :]


def _name_sizes(main: MainOnBuffers, op: graph.LoopOp, block: Block) -> None:
    """Define the symbols that each iteration of a loop has anew."""
    for name, value in zip(op.carried_names, _size_arguments(op, block), strict=True):
        main.define(name, value)


def _final_sizes(main: MainOnBuffers, op: graph.LoopOp, carried: Sequence[SSAValue]) -> list[SSAValue]:
    """The sizes of a loop's results, which are those of the last iteration."""
    signature = main.plan.signatures[op]
    inside = dict(zip(op.carried_names, carried, strict=True))
    positions = positions_of(op.names, signature.outputs.data)
    return [inside[str(dims_of(signature.inputs.data[index])[axis])] for index, axis in positions]


def _sizes(
    main: MainOnBuffers, names: Sequence[str], types: Sequence[Attribute], values: Sequence[SSAValue]
) -> list[SSAValue]:
    """The sizes of the symbols `names` in `types`, read from the dimensions of `values` of these types."""
    dims = [main.dims(value) for value in values]
    return [main.builder.extent(dims[index][axis]) for index, axis in positions_of(names, types)]
