"""Loops with other tapes: with fewer rows, or with all that the derivative of an iteration reads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.graph_ir.annotations import in_bounds
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.passes.graph.gradients.arms import block_of, copied, return_values, swept
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.options import BLOCKED
from stepwell.passes.graph.gradients.tapes import Tape, mark
from stepwell.runtime.dims import Dim


def blocked(op: graph.ForOp, size: int, b: GradientBuilder) -> graph.ForOp:
    """
    Replace a loop by one over blocks of some iterations, with a loop in it.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) { … }
    // ->
    %y = graph.for %j to %blocks (%c = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %z = graph.for %k to %rest (%a = %c : tensor<4xf32>) -> (tensor<4xf32>) { … }
      graph.yield %z : tensor<4xf32>
    }
    ```
    """
    types = [value.type for value in op.inits]
    outer = Region(Block([graph.YieldOp([])], arg_types=[INDEX_TYPE, *types]))
    block, inner = outer.block, b.before(yield_of(outer))
    begin = inner.multiply(block.args[0], inner.number(size))
    body = copied(op.body, op)
    first = body.block.first_op
    assert first is not None
    index = body.block.args[0]
    at = b.before(first).add(begin, index)
    index.replace_uses_with_if(at, lambda use: use.operation is not at.owner)
    loop = graph.ForOp(_rest(op, begin, size, inner), list(block.args[1:]), body)
    inner.rewriter.insert(loop)
    return_values(yield_of(outer), loop.values)
    made = b.rewriter.insert(graph.ForOp(_blocks(op, size, b), list(op.inits), outer))
    for each in (loop, made):
        adopt_location(each, op.location)
        each.attributes[BLOCKED] = UnitAttr()
    for old, new in zip(op.values, made.values, strict=True):
        old.replace_all_uses_with(new)
    return made


def _blocks(op: graph.ForOp, size: int, b: GradientBuilder) -> SSAValue:
    """The number of blocks."""
    if (count := _known(op, b)) is not None:
        return b.number(-(-count // size))
    rounded = b.add(b.insert(graph.MaximumOp(op.count, b.number(0))), b.number(size - 1))
    return b.divide(rounded, b.number(size))


def _rest(op: graph.ForOp, begin: SSAValue, size: int, b: GradientBuilder) -> SSAValue:
    """The number of iterations in a block; the last block has the rest."""
    if (count := _known(op, b)) is not None and count % size == 0:
        return b.number(size)
    return b.insert(graph.MinimumOp(b.subtract(op.count, begin), b.number(size)))


def _known(op: graph.ForOp, b: GradientBuilder) -> int | None:
    source = op.count.owner
    is_known = isinstance(source, graph.ConstantOp)
    return max(int(constant_array(source, b.weights).item()), 0) if is_known else None


def trips_of(op: graph.ForOp, b: GradientBuilder) -> Dim:
    """The number of iterations as a dimension, of a new name where it is known at run time only."""
    source = op.count.owner
    if isinstance(source, graph.ConstantOp):
        # One row at least: no slice of a buffer is of nothing.
        return Dim.of(max(int(constant_array(source, b.weights).item()), 1))
    return named(b.insert(graph.MaximumOp(op.count, b.number(0))), op, b)


def named(number: SSAValue, at: Operation, b: GradientBuilder) -> Dim:
    """A number that is data, at least 0, as a dimension."""
    (name,) = fresh_symbols(at, 1)
    b.rewriter.insert(graph.BindSizesOp(number, [name]))
    return Dim.symbol(name)


class WholeTape:
    """
    The forward loop with a stack for each value that the derivative of an iteration reads.

    Args: `given` are the cotangents of an iteration's results, None for zeros; `wanted` are the values whose
    cotangents are wanted: carried values, by position, and values from outside the loop.
    """

    def __init__(
        self,
        op: graph.ForOp,
        given: Sequence[SSAValue | None],
        wanted: tuple[Sequence[int], Sequence[SSAValue]],
        b: GradientBuilder,
    ):
        self._op = op
        self.body = copied(op.body, op)
        block, places = self.body.block, wanted[0]
        self._last = yield_of(self.body)
        self._inner = b.before(self._last)
        marked = mark(self._inner)
        ops = [each for each in block.ops if each is not marked and each is not self._last]
        arguments = [block.args[1 + place] for place in places]
        self._found = swept(ops, self._last.operands, given, [*arguments, *wanted[1]], self._inner)
        _erase_unused(marked, self._last, self._found)
        self._tape = Tape.of(
            marked, self._found, lambda value: block_of(value) is block, defined_names(self.body)
        )

    @property
    def is_stackable(self) -> bool:
        """Whether all values are tensors of one size, so that buffers have a row for each iteration."""
        return not self._tape.sizes and all(map(_has_one_size, self._tape.values))

    def stacked(self, trips: Dim, b: GradientBuilder) -> list[SSAValue]:
        """Replace the loop by one that stacks the values; returns the stacks."""
        op, block, inner = self._op, self.body.block, self._inner
        buffers = [
            b.insert(graph.FullOp(b.scalar(0, value), [trips, *b.dims(value)])) for value in self._tape.values
        ]
        at = named(block.args[0], op, inner) if buffers else Dim.of(0)
        rows: list[SSAValue] = []
        for value, buffer in zip(self._tape.values, buffers, strict=True):
            argument = block.insert_arg(buffer.type, len(block.args))
            offsets = [at, *[Dim.of(0)] * len(b.dims(value))]
            update = graph.InsertSliceOp(argument, inner.expand(value, [0]), offsets)
            rows.append(inner.insert(in_bounds(update)))
        return_values(self._last, [*self._last.operands, *rows])
        made = graph.ForOp(op.count, [*op.inits, *buffers], self.body)
        b.rewriter.insert(made)
        adopt_location(made, op.location)
        for old, new in zip(op.values, made.values, strict=False):
            old.replace_all_uses_with(new)
        return list(made.results[len(op.inits) :])

    def cotangents(self, stacks: Sequence[SSAValue], number: SSAValue, b: GradientBuilder) -> list[SSAValue]:
        """Write the derivative of the iteration `number` there; returns the cotangents."""
        rows = [b.insert(graph.GatherOp(stack, number, 0)) for stack in stacks]
        return self._tape.unpacked(rows, self._found, b)


def _erase_unused(begin: Operation, end: Operation, found: Sequence[SSAValue]) -> None:
    """Erase pure ops between two others that nothing uses: a tape has nothing for these."""
    op = end.prev_op
    while op is not None and op is not begin:
        before = op.prev_op
        if is_side_effect_free(op) and not any(result.uses or result in found for result in op.results):
            Rewriter.erase_op(op)
        op = before


def _has_one_size(value: SSAValue) -> bool:
    if value.type.name != TensorType.name:
        return False
    return not any(dim.is_unknown for dim in dims_of(value.type))
