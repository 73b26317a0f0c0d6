"""Reductions, running sums and softmax of the graph level → operators of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, dtype_of, tensor_type
from stepwell.lowering.graph_to_onnx.nodes import (
    insert_constant,
    insert_integers,
    insert_node,
    replace_by_node,
)
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of

KINDS: Mapping[str, type[onnx.OnnxOp]] = {
    "sum": onnx.ReduceSumOp,
    "prod": onnx.ReduceProdOp,
    "max": onnx.ReduceMaxOp,
    "min": onnx.ReduceMinOp,
    "mean": onnx.ReduceMeanOp,
    "sum_square": onnx.ReduceSumSquareOp,
    "l1": onnx.ReduceL1Op,
    "l2": onnx.ReduceL2Op,
    "log_sum_exp": onnx.ReduceLogSumExpOp,
    "and": onnx.ReduceMinOp,
    "or": onnx.ReduceMaxOp,
}
STEPS: Mapping[str, type[onnx.OnnxOp]] = {"prod": onnx.MulOp, "max": onnx.MaxOp, "min": onnx.MinOp}
_SCAN_AXES = ("scan_input_axes", "scan_output_axes")
_SCAN_DIRECTIONS = ("scan_input_directions", "scan_output_directions")


class ReduceExport(OnnxExport):
    """`graph.reduce` → the operator of its kind; truth values are converted to i32 and back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter) -> None:
        """Pass the axes as an input; `and` and `or` are whether a minimum and maximum in i32 are above 0."""
        x, kind = op.input, op.kind.data
        truths = kind in ("and", "or")
        if truths:
            x = cast_to(x, i32, rewriter)
        axes = insert_integers(rewriter, op.axes.get_values())
        result = insert_node(
            rewriter,
            KINDS[kind],
            [x, axes],
            tensor_type(i32, dims_of(op.result.type)) if truths else op.result.type,
            keepdims=bool(op.keep_dims.value.data),
            noop_with_empty_axes=True,
        )
        if truths:  # of no elements the maximum is the least number, which a cast takes for true
            operands = [self.scalar(0, result, rewriter), result]
            result = insert_node(rewriter, onnx.LessOp, operands, op.result.type)
        rewriter.replace(op, [], [result])


class ScanExport(OnnxExport):
    """`graph.scan` of sums → `CumSum`; of another kind → `Scan`, whose state is the number so far."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScanOp, rewriter: PatternRewriter) -> None:
        """Copy direction and exclusion; decline unknown dimensions where a state is needed."""
        exclusive, reverse = bool(op.exclusive.value.data), bool(op.reverse.value.data)
        if op.kind.data == "sum":
            axis = insert_constant(rewriter, np.array(op.axis.value.data, np.int64))
            operands = [op.input, axis]
            replace_by_node(rewriter, op, onnx.CumSumOp, operands, exclusive=exclusive, reverse=reverse)
            return
        axis, dims = op.axis.value.data, dims_of(op.input.type)
        rest = [*dims[:axis], *dims[axis + 1 :]]
        if any(dim.is_unknown for dim in rest):
            return
        first = self.filled(None, rest, identity_of(op.kind.data, op.input), op.input, rewriter)
        made = onnx.ScanOp.build(
            operands=[[first, op.input], []],
            result_types=[[first.type, op.result.type]],
            regions=[_step(op, first.type, exclusive=exclusive)],
            properties={
                "num_scan_inputs": IntegerAttr(1, i64),
                **{name: DenseArrayBase.from_list(i64, [axis]) for name in _SCAN_AXES},
                **{name: DenseArrayBase.from_list(i64, [int(reverse)]) for name in _SCAN_DIRECTIONS},
            },
        )
        rewriter.replace(op, made, [made.results[1]])


def identity_of(kind: str, value: SSAValue) -> float:
    """The number that a running product, maximum or minimum begins with."""
    if kind == "prod":
        return 1
    dtype = dtype_of(element_of(value))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        return int(limits.min if kind == "max" else limits.max)
    return -np.inf if kind == "max" else np.inf


def _step(op: graph.ScanOp, type: Attribute, *, exclusive: bool) -> Region:
    """The body of a `Scan`: the number so far and an element → the next number, and what is written."""
    block = Block(arg_types=[type, type])
    rewriter = PatternRewriter(op)
    rewriter.insertion_point = InsertPoint.at_end(block)
    following = insert_node(rewriter, STEPS[op.kind.data], block.args, type)
    written = block.args[0] if exclusive else following
    outputs = [insert_node(rewriter, onnx.IdentityOp, [value], type) for value in (following, written)]
    names = ArrayAttr([StringAttr("")] * len(outputs))
    block.add_op(onnx.YieldOp.build(operands=[outputs], properties={"outputs": names}))
    return Region(block)
