"""Constants, tuples and closed regions of the graph level → what ONNX has of them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.support import OnnxExport
from stepwell.passes.graph.fusion.defuse_ops import dissolve


class ConstantExport(OnnxExport):
    """`graph.constant` → `Constant`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConstantOp, rewriter: PatternRewriter) -> None:
        made = onnx.ConstantOp.build(result_types=[op.result.type], properties={"value": op.value})
        rewriter.replace(op, made)


def take_fields(module: ModuleOp) -> None:
    """Put the fields of tuples in the place of what reads them; tuples that nobody reads go."""
    for op in [op for op in module.walk() if isinstance(op, graph.GetOp)]:
        if isinstance(made := op.input.owner, graph.TupleOp):
            Rewriter.replace_op(op, [], [made.fields[op.index.value.data]])
    for op in [op for op in module.walk() if isinstance(op, graph.TupleOp)]:
        if op.result.first_use is None:
            Rewriter.erase_op(op)


def open_regions(module: ModuleOp, kinds: type[graph.ClosedRegionOp] = graph.ClosedRegionOp) -> None:
    """
    Put the ops of kernels and composites, or of one of them, in their place: ONNX has neither.

    ```mlir
    %y = graph.composite (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) {
      %r = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    for op in [op for op in module.walk() if isinstance(op, kinds)]:
        dissolve(op)


PATTERNS: list[type[OnnxExport]] = [ConstantExport]
