"""Operators that order elements → loops that carry what is chosen, and reads at computed places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, scf, tensor
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import Indices, collected
from stepwell.lowering.graph_to_linalg.support import empty, extent, projection

LoopBody: TypeAlias = "Callable[[SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]"
"""Emits an iteration: from the index and the carried values to the next carried values."""


def counted_loop(size: SSAValue, carried: Sequence[SSAValue], body: LoopBody) -> Sequence[SSAValue]:
    """A loop from 0 to a size that carries values, into the implicit builder that is open around it."""
    block = Block(arg_types=[IndexType(), *(value.type for value in carried)])
    with ImplicitBuilder(block) as (index, *inner):
        scf.YieldOp(*body(index, inner))
    return scf.ForOp(Indices.constant(0), size, Indices.constant(1), list(carried), Region(block)).results


@dataclass
class Order:
    """Which of two elements comes first; NaN counts as greater than all numbers."""

    scalars: Scalars
    largest: bool

    def before(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a comes strictly before b."""
        before = self.scalars.compare("gt" if self.largest else "lt", a, b)
        if not self.scalars.is_float:
            return before
        first, second = (a, b) if self.largest else (b, a)
        only_first = arith.AndIOp(self.scalars.is_nan(first), self._is_number(second)).result
        return arith.OrIOp(before, only_first).result

    def tie(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether neither comes first."""
        equal = self.scalars.compare("eq", a, b)
        if not self.scalars.is_float:
            return equal
        both = arith.AndIOp(self.scalars.is_nan(a), self.scalars.is_nan(b)).result
        return arith.OrIOp(equal, both).result

    def _is_number(self, a: SSAValue) -> SSAValue:
        return self.scalars.compare("eq", a, a)


class TopKLowering(RewritePattern):
    """
    `graph.top_k` → for each row and each of the `k`, one walk along the row for the first element behind the
    one that was chosen last.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TopKOp, rewriter: PatternRewriter) -> None:
        outputs = [empty(tensor_of(result), rewriter) for result in op.results]
        dims = dims_of(op.chosen.type)
        axis = op.axis.value.data
        outer = [extent(dim, rewriter) for i, dim in enumerate(dims) if i != axis]
        search = _Search(op, extent(dims[axis], rewriter), extent(dims_of(op.input.type)[axis], rewriter))
        block = Block()
        with ImplicitBuilder(block):
            results = _rows(outer, outputs, [], search)
        for inner in list(block.ops):
            inner.detach()
            rewriter.insert(inner)
        rewriter.replace(op, [], list(results))


def _rows(
    sizes: Sequence[SSAValue], carried: Sequence[SSAValue], outer: list[SSAValue], search: _Search
) -> Sequence[SSAValue]:
    if not sizes:
        return search.row(outer, carried)
    return counted_loop(
        sizes[0], carried, lambda index, inner: _rows(sizes[1:], inner, [*outer, index], search)
    )


@dataclass
class _Search:
    op: graph.TopKOp
    k: SSAValue
    size: SSAValue

    def row(self, outer: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Fill one row of both results."""
        scalars = Scalars(element_of_value(self.op.input))
        nothing = [scalars.constant(0), Indices.constant(-1)]

        def choose(slot: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            values, indices, *last = carried
            found = counted_loop(self.size, nothing, lambda i, best: self._better(outer, i, best, last))
            at = self._place(outer, slot)
            stored = scalars.narrow(found[0])
            number = arith.IndexCastOp(found[1], i64).result
            values = tensor.InsertOp.create(operands=[stored, values, *at], result_types=[values.type])
            indices = tensor.InsertOp.create(operands=[number, indices, *at], result_types=[indices.type])
            return [values.results[0], indices.results[0], *found]

        return counted_loop(self.k, [*outputs, *nothing], choose)[:2]

    def _place(self, outer: Sequence[SSAValue], index: SSAValue) -> list[SSAValue]:
        axis = self.op.axis.value.data
        return [*outer[:axis], index, *outer[axis:]]

    def _better(
        self, outer: Sequence[SSAValue], index: SSAValue, best: Sequence[SSAValue], last: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """The better one of the best so far and an element, if that one comes behind the last chosen."""
        element = element_of_value(self.op.input)
        scalars = Scalars(element)
        order = Order(scalars, bool(self.op.largest.value.data))
        operands = [self.op.input, *self._place(outer, index)]
        read = tensor.ExtractOp.create(operands=operands, result_types=[signless(element)])
        value = scalars.widen(read.results[0])
        none = Indices.constant(0)
        later = arith.AndIOp(order.tie(last[0], value), arith.CmpiOp(index, last[1], "sgt").result).result
        behind = arith.OrIOp(order.before(last[0], value), later).result
        allowed = arith.OrIOp(arith.CmpiOp(last[1], none, "slt").result, behind).result
        wins = arith.OrIOp(arith.CmpiOp(best[1], none, "slt").result, order.before(value, best[0])).result
        takes = arith.AndIOp(allowed, wins).result
        return [
            arith.SelectOp(takes, value, best[0]).result,
            arith.SelectOp(takes, index, best[1]).result,
        ]


class ReverseSequenceLowering(RewritePattern):
    """`graph.reverse_sequence` → elements at places counted from each length."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseSequenceOp, rewriter: PatternRewriter) -> None:
        batch, time = op.batch_axis.value.data, op.time_axis.value.data
        scalars = Scalars(element_of_value(op.lengths))
        size = extent(dims_of(op.input.type)[time], rewriter)

        def places(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            length = Indices.minimum(Indices.from_scalar(read[0], scalars), size)
            inside = arith.CmpiOp(loops[time], length, "slt").result
            back = Indices.subtract(Indices.subtract(length, Indices.constant(1)), loops[time])
            at = arith.SelectOp(inside, back, loops[time]).result
            return [at if i == time else loop for i, loop in enumerate(loops)]

        rank = len(dims_of(op.result.type))
        reads = [(op.lengths, projection(rank, [batch]))]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, places, rewriter)])


PATTERNS: list[RewritePattern] = [TopKLowering(), ReverseSequenceLowering()]
