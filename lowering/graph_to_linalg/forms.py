"""Ops that have forms → ops of `linalg_ext`, which `expand-forms` writes as loops once a form is chosen."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph, linalg_ext
from stepwell.dialects.graph.relations import element_of_value, shape_text
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.lowering.graph_to_linalg.support import empty
from stepwell.runtime.errors import StepwellError


class AttentionLowering(RewritePattern):
    """`graph.attention` → `linalg_ext.attention` into an empty tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        """Replace the op. Raises: StepwellError `unsupported` for other than f32 rows of known size."""
        depth, columns = dims_of(op.q.type)[-1], dims_of(op.v.type)[-1]
        if element_of_value(op.q) != f32 or not depth.is_static or not columns.is_static:
            raise StepwellError(
                "unsupported",
                op,
                f"a kernel of graph.attention needs f32 rows of known size, found {op.q.type}, {op.v.type}",
                help="run `legalize{set=kernels}` before",
            )
        rewriter.replace(op, linalg_ext.AttentionOp(op, empty(tensor_of(op.result), rewriter)))


class WinogradLowering(RewritePattern):
    """`graph.winograd_conv` → `linalg_ext.winograd_conv` into an empty tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WinogradConvOp, rewriter: PatternRewriter) -> None:
        """Replace the op. Raises: StepwellError `unsupported` where the number of channels is open."""
        x, u = dims_of(op.x.type), dims_of(op.u.type)
        if not (x[1].is_static and u[1].is_static):
            raise StepwellError(
                "unsupported", op, f"graph.winograd_conv needs known channels, found {shape_text(x)}"
            )
        rewriter.replace(op, linalg_ext.WinogradConvOp(op, empty(tensor_of(op.result), rewriter)))


class TreeEnsembleLowering(RewritePattern):
    """`graph.tree_ensemble` → `linalg_ext.tree_ensemble` into an empty tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TreeEnsembleOp, rewriter: PatternRewriter) -> None:
        """Replace the op."""
        rewriter.replace(op, linalg_ext.TreeEnsembleOp(op, empty(tensor_of(op.result), rewriter)))
