"""Graph ops with an operator of ONNX that has the same operands and attributes, under other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, IntegerType, StringAttr, i1
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.base import GraphOp
from stepwell.lowering.graph_to_onnx.nodes import AttributeLike, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport

CopyTable: TypeAlias = Mapping[type[Operation], tuple[type[onnx.OnnxOp], Mapping[str, str]]]
"""For each op its operator, and for each attribute of the operator the op's property."""

WINDOW = {"strides": "strides", "dilations": "dilations", "pads": "pads"}
CONVOLUTION = {**WINDOW, "group": "groups"}
_EXTREMUM = {"axis": "axis", "keepdims": "keep_dims", "select_last_index": "select_last"}
COPIES: CopyTable = {
    graph.ArgmaxOp: (onnx.ArgMaxOp, _EXTREMUM),
    graph.ArgminOp: (onnx.ArgMinOp, _EXTREMUM),
    graph.ConcatOp: (onnx.ConcatOp, {"axis": "axis"}),
    graph.EinsumOp: (onnx.EinsumOp, {"equation": "equation"}),
    graph.EluOp: (onnx.EluOp, {"alpha": "alpha"}),
    graph.GeluOp: (onnx.GeluOp, {"approximate": "approximate"}),
    graph.IsInfOp: (onnx.IsInfOp, {"detect_positive": "positive", "detect_negative": "negative"}),
    graph.LeakyReluOp: (onnx.LeakyReluOp, {"alpha": "alpha"}),
    graph.LogSoftmaxOp: (onnx.LogSoftmaxOp, {"axis": "axis"}),
    graph.LpNormOp: (onnx.LpNormalizationOp, {"axis": "axis", "p": "p"}),
    graph.LrnOp: (onnx.LRNOp, {"size": "size", "alpha": "alpha", "beta": "beta", "bias": "bias"}),
    graph.RangeOp: (onnx.RangeOp, {}),
    graph.ShapeOfOp: (onnx.ShapeOp, {"start": "start", "end": "end"}),
    graph.SoftmaxOp: (onnx.SoftmaxOp, {"axis": "axis"}),
    graph.TransposeOp: (onnx.TransposeOp, {"perm": "perm"}),
}


def copied(op: Operation, names: Mapping[str, str]) -> dict[str, AttributeLike]:
    """Attributes of ONNX by name, from properties of a graph op; `names` maps their names to the op's."""
    return {name: _plain_value(op.properties[ours]) for name, ours in names.items()}


def _plain_value(attribute: Attribute) -> AttributeLike:
    """The number, truth value, text or sequence of numbers that an attribute contains."""
    match attribute:
        case IntegerAttr() if attribute.type == i1:
            return bool(attribute)
        case IntegerAttr() | FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return cast("DenseArrayBase[IntegerType]", attribute).get_values()
        case _:
            raise AssertionError(f"no attribute of ONNX is like {attribute}")


class CopyExport(OnnxExport):
    """An op of `COPIES` → its operator, with attributes copied."""

    takes = tuple(COPIES)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GraphOp, rewriter: PatternRewriter) -> None:
        """Replace the op by the operator of its row."""
        target, names = COPIES[type(op)]
        replace_by_node(rewriter, op, target, op.operands, **copied(op, names))
