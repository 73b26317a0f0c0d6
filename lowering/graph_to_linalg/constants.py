"""Constants inside kernels, once the ops that read them as scalars are converted."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.support import constant_number, filled
from stepwell.dialects.types import tensor_of
from stepwell.runtime.errors import StepwellError


class ConstantLowering(RewritePattern):
    """
    `graph.constant` → nothing when unused, since bodies contain their numbers; else a `linalg.fill` tensor.

    A constant of several elements must be an operand of the kernel, and is refused.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConstantOp, rewriter: PatternRewriter) -> None:
        """Erase an unused constant, fill a tensor with a single number, or raise `unsupported`."""
        if op.result.first_use is None:
            rewriter.erase(op)
        elif (number := constant_number(op.result)) is not None:
            rewriter.replace(op, [], [filled(tensor_of(op.result), number, rewriter)])
        else:
            raise StepwellError(
                "unsupported",
                op,
                f"a constant of type {op.result.type} inside a kernel",
                help="make it an operand of the kernel, as `fuse-ops` does",
            )
