"""`graph.if`, `graph.for` and `graph.while`, whose regions are converted → `If` and `Loop`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.control_flow import CONDITION_TYPE, yield_of
from stepwell.dialects.graph.loops import INDEX_TYPE, LoopOp
from stepwell.lowering.graph_to_onnx.nodes import insert_constant, insert_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.files.weights import WeightStore


def convert_control_flow(module: ModuleOp, weights: WeightStore) -> None:
    """
    Convert ops with regions, the inner ones too.

    Raises: StepwellError `unsupported-op` for a size that such an op gives as a number.
    """
    patterns = [pattern(weights) for pattern in (IfExport, ForExport, WhileExport)]
    # The ops that name sizes are erased at the end, because sizes in converted regions come from them.
    named = (graph.BindSizesOp, graph.DefineSizesOp)
    convert(module, patterns, illegal=["graph"], legal_ops=named, convert_new_ops=True)


class IfExport(OnnxExport):
    """`graph.if` → `If`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IfOp, rewriter: PatternRewriter) -> None:
        """Move the branches; decline sizes that are used as numbers."""
        if _uses_sizes(op, op.values):
            return
        then_branch, else_branch = (_moved(region, rewriter) for region in op.regions)
        made = onnx.IfOp.build(
            operands=[op.condition],
            result_types=[[value.type for value in op.values]],
            regions=[else_branch, then_branch],
        )
        _replace(op, made, rewriter)


class ForExport(OnnxExport):
    """`graph.for` → `Loop` with a trip count, whose condition is always true."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ForOp, rewriter: PatternRewriter) -> None:
        """Give the body a condition; decline sizes that are used as numbers."""
        if _uses_sizes(op, op.values) or _changes_kind(op) or not _drop_sizes(op, op.body.block):
            return
        body = _moved(op.body, rewriter, leading=[None])
        body.block.insert_arg(CONDITION_TYPE, 1)
        made = _loop([op.count], [], op.inits, op.values, body)
        _replace(op, made, rewriter)


class WhileExport(OnnxExport):
    """`graph.while` → `Loop` with a condition: the test before the loop, and at the end of its body."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhileOp, rewriter: PatternRewriter) -> None:
        """Copy the test twice; decline sizes that are used as numbers."""
        blocks = (op.test.block, op.body.block)
        if _uses_sizes(op, op.values) or _changes_kind(op):
            return
        if not all([_drop_sizes(op, block) for block in blocks]):
            return
        first = _tested(op, op.inits, rewriter)
        terminator = yield_of(op.body)
        rewriter.insertion_point = InsertPoint.before(terminator)
        again = _tested(op, terminator.operands, rewriter)
        rewriter.insertion_point = InsertPoint.before(op)
        body = _moved(op.body, rewriter, leading=[again])
        for place, type in enumerate((INDEX_TYPE, CONDITION_TYPE)):
            body.block.insert_arg(type, place)
        made = _loop([], [first], op.inits, op.values, body)
        _replace(op, made, rewriter)


def _tested(op: graph.WhileOp, values: Sequence[SSAValue], rewriter: PatternRewriter) -> SSAValue:
    """The condition for carried values: a copy of the test."""
    region = op.test.clone()
    block = region.block
    for argument, value in zip(list(block.args), values, strict=True):
        argument.replace_all_uses_with(value)
    terminator = yield_of(region)
    (condition,) = terminator.operands
    terminator.detach()
    terminator.erase()
    for inner in list(block.ops):
        inner.detach()
        rewriter.insert(inner)
    return condition


def _uses_sizes(op: Operation, values: Sequence[SSAValue]) -> bool:
    """Whether a result that is a size is used."""
    return any(result.uses for result in op.results[len(values) :])


def _changes_kind(op: LoopOp) -> bool:
    """Whether a carried value is an optional that becomes a list, which `Loop` does not allow."""
    pairs = zip(op.inits, yield_of(op.body).operands, strict=False)
    return any(type(before.type) is not type(after.type) for before, after in pairs)


def _drop_sizes(op: LoopOp, block: Block) -> bool:
    """Remove the arguments that are sizes of carried values; returns whether none was used."""
    for _ in op.carried_names:
        if block.args[-1].uses:
            return False
        block.erase_arg(block.args[-1])
    return True


def _loop(
    count: Sequence[SSAValue],
    condition: Sequence[SSAValue],
    inits: Sequence[SSAValue],
    values: Sequence[SSAValue],
    body: Region,
) -> onnx.LoopOp:
    return onnx.LoopOp.build(
        operands=[count, condition, list(inits)],
        result_types=[[value.type for value in values]],
        regions=[body],
    )


def _moved(region: Region, rewriter: PatternRewriter, leading: Sequence[SSAValue | None] = ()) -> Region:
    """
    A region in the form of an ONNX operator's: its outputs are results of nodes of their own, after `leading`
    ones.

    Args: None in `leading` is the constant true.
    """
    terminator = yield_of(region)
    before, rewriter.insertion_point = rewriter.insertion_point, InsertPoint.before(terminator)
    first = [insert_constant(rewriter, np.array(True)) if each is None else each for each in leading]
    outputs = [insert_node(rewriter, onnx.IdentityOp, [v], v.type) for v in (*first, *terminator.operands)]
    names = ArrayAttr([StringAttr("")] * len(outputs))
    rewriter.replace(terminator, onnx.YieldOp.build(operands=[outputs], properties={"outputs": names}), [])
    rewriter.insertion_point = before
    block = region.block
    region.detach_block(block)
    return Region(block)


def _replace(op: graph.IfOp | LoopOp, made: Operation, rewriter: PatternRewriter) -> None:
    """Replace an op whose results are values, and sizes that have no uses."""
    spare = [None] * (len(op.results) - len(made.results))
    rewriter.replace(op, made, [*made.results, *spare])
