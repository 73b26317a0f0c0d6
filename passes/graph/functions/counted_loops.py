"""Loops with a number of iterations, written as loops with a condition."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.locations import adopt_location
from stepwell.runtime.files.weights import WeightStore


def count_by_condition(op: graph.ForOp, weights: WeightStore) -> graph.WhileOp:
    """
    Replace a `graph.for` by a `graph.while`, whose first carried value is the number of the iteration.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<f32>) -> (tensor<f32>) { … }
    // ->
    %k, %y = graph.while (%i = %zero : tensor<i64>, %a = %x : tensor<f32>) -> (tensor<i64>, tensor<f32>) {
      %c = graph.less %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      graph.yield %c : tensor<i1>
    } do (%i: tensor<i64>, %a: tensor<f32>) { … }
    ```
    """
    zero, one = (graph.ConstantOp.of(np.array(number, np.int64), weights) for number in (0, 1))
    body = op.detach_region(op.body)
    test = Block(arg_types=body.block.arg_types)
    test.add_op(less := graph.LessOp(test.args[0], op.count))
    test.add_op(graph.YieldOp([less.result]))
    last = yield_of(body)
    body.block.insert_ops_before([one, after := graph.AddOp(body.block.args[0], one.result)], last)
    last.operands = [after.result, *last.operands]
    made = graph.WhileOp.create(
        operands=[zero.result, *op.inits],
        result_types=[INDEX_TYPE, *op.result_types],
        properties={name: value for name, value in op.properties.items() if name in ("carries", "symbols")},
        regions=[Region(test), body],
    )
    for each in (zero, one, less, after, made):
        adopt_location(each, op.location)
    Rewriter.replace_op(op, [zero, made], made.results[1:])
    return made
