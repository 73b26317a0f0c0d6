"""Elementwise ops → one `linalg.generic` each, with `arith` and `math` in its body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import tensor_of
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.support import elementwise

UnaryBody: TypeAlias = Callable[[Scalars, SSAValue], SSAValue]
BinaryBody: TypeAlias = Callable[[Scalars, SSAValue, SSAValue], SSAValue]


def _math(op_type: Callable[[SSAValue], Operation]) -> UnaryBody:
    return lambda scalars, x: op_type(x).results[0]


def _relu(scalars: Scalars, x: SSAValue) -> SSAValue:
    return scalars.maximum(x, scalars.constant(0))


UNARY: Mapping[type[UnaryOp], UnaryBody] = {
    graph.NegOp: Scalars.negate,
    graph.AbsOp: Scalars.absolute,
    graph.ExpOp: _math(math.ExpOp),
    graph.ReluOp: _relu,
}

BINARY: Mapping[type[BinaryOp], BinaryBody] = {
    graph.AddOp: Scalars.add,
    graph.SubtractOp: Scalars.subtract,
    graph.MultiplyOp: Scalars.multiply,
    graph.DivideOp: Scalars.divide,
    graph.MaximumOp: Scalars.maximum,
    graph.MinimumOp: Scalars.minimum,
}


class UnaryLowering(RewritePattern):
    """An op on one tensor → a `linalg.generic` whose body is the op's row in `UNARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnaryOp, rewriter: PatternRewriter) -> None:
        if (body := UNARY.get(type(op))) is None:
            return
        scalars = Scalars(element_of_value(op.input))
        result = elementwise(tensor_of(op.result), [op.input], lambda s: body(scalars, *s), op, rewriter)
        rewriter.replace(op, [], [result])


class BinaryLowering(RewritePattern):
    """An op on two tensors that broadcast → a `linalg.generic` whose body is the op's row in `BINARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BinaryOp, rewriter: PatternRewriter) -> None:
        if (body := BINARY.get(type(op))) is None:
            return
        scalars = Scalars(element_of_value(op.lhs))
        operands = [op.lhs, op.rhs]
        result = elementwise(tensor_of(op.result), operands, lambda s: body(scalars, *s), op, rewriter)
        rewriter.replace(op, [], [result])


PATTERNS: list[RewritePattern] = [UnaryLowering(), BinaryLowering()]
