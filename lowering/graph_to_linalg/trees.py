"""Tree ensembles → an op of level 2, which `expand-forms` writes as loops once its form is chosen."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph, linalg_ext
from stepwell.dialects.types import tensor_of
from stepwell.lowering.graph_to_linalg.support import empty


class TreeEnsembleLowering(RewritePattern):
    """`graph.tree_ensemble` → `linalg_ext.tree_ensemble` into an empty tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TreeEnsembleOp, rewriter: PatternRewriter) -> None:
        """Replace the op."""
        rewriter.replace(op, linalg_ext.TreeEnsembleOp(op, empty(tensor_of(op.result), rewriter)))
