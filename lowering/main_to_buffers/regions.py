"""
Branches and loops of `@main` on buffers: `graph.if`, `for` and `while` as `scf` ops that carry sizes only.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.types import dims_of
from stepwell.lowering.main_to_buffers.main import Move, signature_of
from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    from stepwell.lowering.main_to_buffers.lowered_main import MainOnBuffers

_INDEX = IndexType()


class RegionsOnBuffers:
    """
    Converts ops with regions for a `MainOnBuffers`.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) { … graph.yield %b : tensor<4xf32> }
    // ->
    memref.copy %x, %carried
    scf.for %i = %zero to %n step %one {
      memref.store %i, %number[]
      …
      memref.copy %b, %carried
    }
    ```
    Tensors are in the planned buffers, so that only sizes that change are values of `scf`. Memory of a size
    that depends on data is requested inside and outside of a region: a slot that is large enough is reused.
    """

    def __init__(self, main: MainOnBuffers):
        self._main = main

    def convert(self, op: graph.ControlFlowOp) -> None:
        """Convert a branch or loop, at the builder's insertion point."""
        match op:
            case graph.IfOp():
                self._convert_if(op)
            case graph.ForOp():
                self._convert_for(op)
            case graph.WhileOp():
                self._convert_while(op)
            case _:
                raise AssertionError(op.name)

    @contextmanager
    def _inside(self, block: Block, forget: Sequence[SSAValue] = ()) -> Generator[None]:
        """Build in a block; values created there are not visible outside, nor memory of `forget` inside."""
        main = self._main
        outer = (main.builder, main.memrefs, main.views, main.memory)
        known = dict(main.symbol_values)
        main.builder = main.builder.inside(block)
        main.memrefs, main.views, main.memory = dict(main.memrefs), dict(main.views), dict(main.memory)
        self._forget(forget)
        yield
        main.builder, main.memrefs, main.views, main.memory = outer
        main.symbol_values.clear()
        main.symbol_values.update(known)

    def _forget(self, values: Sequence[SSAValue]) -> None:
        """Request the memory of values again at the next use, unless it is in the arena."""
        for value in values:
            if (buffer := self._main.buffers.of.get(value)) is not None:
                self._main.memory.pop(id(buffer), None)

    def _load(self, value: SSAValue) -> SSAValue:
        """The one element of a tensor."""
        return self._main.builder.value(memref.LoadOp.get(self._main.memref(value), []))

    def _move(self, at: Operation) -> None:
        """
        Insert the planned copies before an op: initial values, next values and results to their buffers.
        """
        for move in self._main.buffers.moves.get(at, ()):
            source = self._source(move, at)
            self._main.memory.pop(id(move.target), None)
            type = MemRefType(move.type.element_type, move.type.get_shape())
            target = self._main.seen(move.target, type, move.dims)
            self._main.builder.insert(memref.CopyOp(source, target))

    def _source(self, move: Move, at: Operation) -> SSAValue:
        """The memref of a move's source: a weight is found by the op's operand, all else by its buffer."""
        if move.source.kind == "weight":
            operand = next(v for v in at.operands if self._main.buffers.of.get(v) is move.source)
            return self._main.memref(operand)
        type: MemRefType[Attribute] = MemRefType(move.type.element_type, move.type.get_shape())
        return self._main.seen(move.source, type, move.dims)

    def _sizes(
        self, names: Sequence[str], types: Sequence[Attribute], values: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """
        The sizes of the symbols `names` in `types`, read from the dimensions of `values` of these types.
        """
        dims = [self._main.buffers.dims.get(value, ()) for value in values]
        return [self._main.builder.extent(dims[i][axis]) for i, axis in _positions(names, types)]

    def _define(self, op: graph.ControlFlowOp, values: Sequence[SSAValue]) -> None:
        """Define the values of an op's symbols for the following ops."""
        for (name, _), value in zip(defined_symbols(op), values, strict=True):
            self._main.define(name, value)

    def _convert_if(self, op: graph.IfOp) -> None:
        """Convert a `graph.if` to an `scf.if` that yields the sizes of results."""
        condition = self._load(op.condition)
        types = signature_of(op).outputs.data
        then, otherwise = Block(), Block()
        for region, block in ((op.then_region, then), (op.else_region, otherwise)):
            last = yield_of(region)
            with self._inside(block, forget=op.values):
                self._main.convert_block(region.block)
                self._move(last)
                self._main.builder.insert(scf.YieldOp(*self._sizes(op.names, types, last.operands)))
        sizes = [_INDEX] * len(op.names)
        new = self._main.builder.insert(scf.IfOp(condition, sizes, Region(then), Region(otherwise)))
        self._forget(op.values)
        self._define(op, new.results)

    def _body(self, op: graph.ForOp | graph.WhileOp, block: Block, sizes: Sequence[SSAValue]) -> None:
        """Fill a block with a loop's body: symbols, iteration number, ops, copies, next sizes."""
        last = yield_of(op.body)
        types = signature_of(op).inputs.data
        with self._inside(block, forget=op.carried):
            for name, value in zip(op.carried_names, sizes, strict=True):
                self._main.define(name, value)
            if isinstance(op, graph.ForOp):
                number = self._main.memref(op.body.block.args[0])
                count = self._main.builder.value(arith.IndexCastOp(block.args[0], i64))
                self._main.builder.insert(memref.StoreOp.get(count, number, []))
            self._main.convert_block(op.body.block)
            next_sizes = self._sizes(op.carried_names, types, last.operands)
            self._move(last)
            self._main.builder.insert(scf.YieldOp(*next_sizes))

    def _leave(self, op: graph.ForOp | graph.WhileOp, sizes: Sequence[SSAValue]) -> None:
        """After a loop, define the sizes of the results: those of the last iteration."""
        signature = signature_of(op)
        self._forget(op.carried)
        inside = dict(zip(op.carried_names, sizes, strict=True))
        positions = _positions(op.names, signature.outputs.data)
        carried = [dims_of(signature.inputs.data[i])[axis] for i, axis in positions]
        self._define(op, [inside[str(dim)] for dim in carried])

    def _convert_for(self, op: graph.ForOp) -> None:
        """Convert a `graph.for` to an `scf.for` from 0 to the count that carries sizes."""
        self._move(op)
        count = self._main.builder.value(arith.IndexCastOp(self._load(op.count), _INDEX))
        zero, one = (self._main.builder.extent(Dim.of(n)) for n in (0, 1))
        starts = self._sizes(op.carried_names, signature_of(op).inputs.data, op.inits)
        block = Block(arg_types=[_INDEX] * (1 + len(starts)))
        self._body(op, block, block.args[1:])
        new = self._main.builder.insert(scf.ForOp(zero, count, one, starts, Region(block)))
        self._leave(op, new.results)

    def _convert_while(self, op: graph.WhileOp) -> None:
        """Convert a `graph.while` to an `scf.while` whose first region loads the condition."""
        self._move(op)
        starts = self._sizes(op.carried_names, signature_of(op).inputs.data, op.inits)
        test, body = (Block(arg_types=[_INDEX] * len(starts)) for _ in range(2))
        with self._inside(test, forget=op.carried):
            for name, value in zip(op.carried_names, test.args, strict=True):
                self._main.define(name, value)
            self._main.convert_block(op.test.block)
            condition = self._load(yield_of(op.test).operands[0])
            self._main.builder.insert(scf.ConditionOp(condition, *test.args))
        self._body(op, body, body.args)
        types = [_INDEX] * len(starts)
        new = self._main.builder.insert(scf.WhileOp(starts, types, Region(test), Region(body)))
        self._leave(op, new.results)


def _positions(names: Sequence[str], types: Sequence[Attribute]) -> list[tuple[int, int]]:
    """The (type index, axis) of each symbol that is a dimension by itself."""
    found = {
        str(dim): (index, axis)
        for index, type in enumerate(types)
        if type.name == "tensor"
        for axis, dim in enumerate(dims_of(type))
    }
    return [found[name] for name in names]
