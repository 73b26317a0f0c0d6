"""`count-draws`: random numbers are functions of a seed and of the number of the call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.graph_ir.state import add_state, return_states
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import tensor_type
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.functions import main_function
from stepwell.runtime.files.weights import WeightStore

DRAWS = "draws"
"""The state that counts calls."""


@dataclass(frozen=True)
class CountDrawsPass(Pass):
    """
    Let random numbers of a seed differ from call to call: each call has streams of its own.

    ```mlir
    %key = graph.constant dense<[3, 0]> : tensor<2xi64>
    %b = graph.random_bits %key count <[32]> : tensor<2xi64> -> tensor<32xui64>
    // ->
    %n = graph.reshape %draws shape <[1]> : tensor<i64> -> tensor<1xi64>
    %ops = graph.constant dense<[0, 1]> : tensor<2xi64>
    %s = graph.multiply %n, %ops : (tensor<1xi64>, tensor<2xi64>) -> tensor<2xi64>
    %first = graph.constant dense<[3, 0]> : tensor<2xi64>
    %key = graph.add %s, %first : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    %b = graph.random_bits %key count <[32]> : tensor<2xi64> -> tensor<32xui64>
    ```
    `@main` gets a state `draws`, the number of calls before. Of several ops each has a stream: the number of
    calls times the number of ops, plus its own number. Draws are equal for equal seeds, on any number of
    threads and in each executor. Those whose key is no constant stay.

    Class: exact: a draw is any number of its distribution, as `append-loss` makes any other part of a program
    for training. It runs at each level, since a step whose draws repeat trains another model.
    """

    name = "count-draws"
    numerics = Numerics.EXACT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main, weights = main_function(op), weights_of(ctx)
        found = [
            draw
            for draw in main.walk()
            if isinstance(draw, graph.RandomBitsOp) and isinstance(draw.key.owner, graph.ConstantOp)
        ]
        if not found:
            return
        count = add_state(main, DRAWS, tensor_type(i64, []))
        for number, draw in enumerate(found):
            _count(draw, number, len(found), count, weights)
        last = main.body.block.last_op
        assert last is not None
        b = GradientBuilder(Builder(InsertPoint.before(last)), weights)
        return_states(main, {DRAWS: b.plus(count, 1)})


def _count(draw: graph.RandomBitsOp, number: int, ops: int, count: SSAValue, weights: WeightStore) -> None:
    """Give one of several ops a stream of its own in each call."""
    assert isinstance(draw.key.owner, graph.ConstantOp)
    seed, stream = constant_array(draw.key.owner, weights)
    b, before = GradientBuilder(Builder(InsertPoint.before(draw)), weights), draw.prev_op
    per_call, first = (
        b.insert(graph.ConstantOp.of(np.array(each, np.int64), weights))
        for each in ([0, ops], [seed, stream + number])
    )
    draw.operands[0] = b.add(b.multiply(b.reshape(count, [1]), per_call), first)
    made = draw.prev_op
    while made is not None and made is not before:
        adopt_location(made, draw.location)
        made = made.prev_op
