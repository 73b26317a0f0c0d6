"""Derivatives of tuples and data, which take apart and put together."""

from __future__ import annotations

from xdsl.ir import Block, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.patterns import BOUND, PatternAttr
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, Fields, derivative


@derivative(graph.TupleOp)
def tuple_(op: graph.TupleOp, dy: SSAValue | Fields, b: GradientBuilder) -> Cotangents:
    """The fields of dy."""
    if isinstance(dy, Fields):
        return [dy.known.get(number) for number in range(len(op.fields))]
    return [b.get(dy, number) if field in b.active else None for number, field in enumerate(op.fields)]


@derivative(graph.GetOp)
def get(op: graph.GetOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """A tuple of zeros but for dy."""
    del b
    return [Fields({op.index.value.data: dy})]


@derivative(adt.MakeOp)
def make(op: adt.MakeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """The fields of dy, which has the same constructor."""
    fields = [b.tangent(value) for value in op.inputs]
    wanted = [number for number, value in enumerate(op.inputs) if value in b.active]
    block = Block(arg_types=fields)
    block.add_op(graph.YieldOp([block.args[number] for number in wanted]))
    pattern = PatternAttr.of(op.name_of_constructor, [PatternAttr.of(BOUND)] * len(fields))
    types = [fields[number] for number in wanted]
    taken = b.rewriter.insert(adt.MatchOp(dy, [pattern], [Region(block)], types, partial=True))
    found: dict[int, SSAValue] = dict(zip(wanted, taken.results, strict=True))
    return [found.get(number) for number in range(len(fields))]
