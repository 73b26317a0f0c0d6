"""`Loop` → `graph.for` if only a trip count ends it, else `graph.while`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.control_flow import CONDITION_TYPE
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.control.loop_bodies import ConvertedBody, converted_body
from stepwell.lowering.onnx_to_graph.control.regions import RegionLowering, fresh_names
from stepwell.lowering.onnx_to_graph.control.stacking import Stacked, rows_of
from stepwell.lowering.onnx_to_graph.support import emit
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_ROWS = 4096
"""The most iterations for which a `while` collects values in preallocated rows; else the tensor grows."""


class LoopLowering(RegionLowering):
    """
    A trip count alone makes a `graph.for`; a condition that the body computes makes a `graph.while`.

    Values that iterations collect are rows of a tensor allocated before the loop, or are appended to one that
    grows if the number of iterations is unknown. A missing condition follows the body's, as in ONNX Runtime.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LoopOp, rewriter: PatternRewriter) -> None:
        """Convert the body, then choose the kind of loop by whether an iteration may end it."""
        inits = list(op.v_initial)
        types = [INDEX_TYPE, CONDITION_TYPE, *(value.type for value in inits)]
        body = converted_body(self, op, types, inits, carried_at=(2, 1))
        if body is None:
            return
        condition = self.as_scalar(op.cond, op, rewriter)
        count = self.as_scalar(op.M, op, rewriter)
        build = self._count if self._goes_on(body, condition) else self._test
        rewriter.replace(op, [], build(op, body, count, condition, rewriter))

    def _goes_on(self, body: ConvertedBody, condition: SSAValue | None) -> bool:
        """Whether no iteration ends the loop: the body yields true, or the condition that it was given."""
        last = body.yields[0]
        while isinstance(last.owner, graph.ReshapeOp):
            last = last.owner.operands[0]
        array = constant_of(last, self.weights)
        if array is not None:
            return bool(array.reshape(-1)[0]) and (condition is None or self.known_number(condition) == 1)
        return last is body.block.args[1]

    def _count(
        self,
        op: onnx.LoopOp,
        body: ConvertedBody,
        count: SSAValue | None,
        condition: SSAValue | None,
        rewriter: PatternRewriter,
    ) -> list[SSAValue]:
        """The operator's results from a loop with a number of iterations."""
        if count is None:
            raise StepwellError("invalid-model", op, "Loop: neither a trip count nor a condition ends it")
        if condition is not None and self.known_number(condition) != 1:
            count = emit(graph.WhereOp(condition, count, self.scalar(0, i64, rewriter)), rewriter)
        # Body: without its condition argument
        values = len(op.v_initial)
        number, going = body.block.args[:2]
        going.replace_all_uses_with(body.constant(np.array(True), self.weights))
        body.block.erase_arg(going)
        yields = list(body.yields)
        # Collected values: rows of tensors that the loop carries
        rows = rows_of(self, op, count, rewriter) if yields[1 + values :] else Dim.of(0)
        stacked = Stacked(self, op, body, rewriter)
        collected = stacked.collect(yields[1 + values :], rows, number, at=1 + values)
        body.finish([*yields[1 : 1 + values], *stacked.next_values])
        inits = [*op.v_initial, *collected]
        loop = rewriter.insert(graph.ForOp(count, inits, body.region, body.carries, fresh_names(op)))
        return [*loop.values[:values], *stacked.results(loop.values[values:], rows)]

    def _test(
        self,
        op: onnx.LoopOp,
        body: ConvertedBody,
        count: SSAValue | None,
        condition: SSAValue | None,
        rewriter: PatternRewriter,
    ) -> list[SSAValue]:
        """The operator's results from a loop with a condition before each iteration."""
        values = len(op.v_initial)
        limit = self.known_number(count)
        rows = Dim.of(max(limit, 0)) if limit is not None and limit <= MAX_ROWS else None
        # Collected values: tensors that the loop carries
        number = body.block.args[0]
        yields = list(body.yields)
        stacked = Stacked(self, op, body, rewriter)
        collected = stacked.collect(yields[1 + values :], rows, number, at=2 + values)
        # Body: also yields the next iteration number and the condition
        one = body.constant(np.array(1, np.int64), self.weights)
        following = body.emit(graph.AddOp(number, one))
        going = yields[0]
        if dims_of(going.type):
            going = body.emit(graph.ReshapeOp(going, []))
        body.finish([following, going, *yields[1 : 1 + values], *stacked.next_values])
        # Loop: number, condition, carried and collected values
        first = self.scalar(0, i64, rewriter)
        start = condition if condition is not None else self.constant(np.array(True), rewriter)
        inits = [first, start, *op.v_initial, *collected]
        test = _test_region(body, None if count is None or limit == NO_LIMIT else count)
        loop = rewriter.insert(graph.WhileOp(inits, test, body.region, body.carries, fresh_names(op)))
        final, gathered = loop.values[2 : 2 + values], loop.values[2 + values :]
        if not gathered:
            return list(final)
        name = fresh_symbols(op, 1)[0]
        rewriter.insert(graph.BindSizesOp(loop.values[0], [name]))
        return [*final, *stacked.results(gathered, Dim.symbol(name))]


NO_LIMIT = 2**63 - 1
"""The trip count in files whose loop only the condition ends."""


def _test_region(body: ConvertedBody, count: SSAValue | None) -> Region:
    """The test region of a `while` with an optional trip count and a carried condition."""
    block = Block(arg_types=list(body.block.arg_types))
    number, going = block.args[:2]
    if count is None:
        block.add_op(graph.YieldOp([going]))
    else:
        less = graph.LessOp(number, count)
        both = graph.AndOp(less.result, going)
        block.add_ops([less, both, graph.YieldOp([both.result])])
    for op in block.ops:
        adopt_location(op, body.location)
    return Region(block)
