"""`graph.nest` → its body, in the kernel."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.support import extent
from stepwell.dialects.types import tensor_of


class NestLowering(RewritePattern):
    """`graph.nest` → the ops of its body, on the inputs and the sizes of the kernel."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NestOp, rewriter: PatternRewriter) -> None:
        """Clone the body; a tensor of a shape that is known here and not in the body is cast."""
        block, bound = op.body.block, op.bindings()
        given: list[SSAValue] = [
            _with_shape(value, argument, rewriter)
            for value, argument in zip(op.inputs, block.args, strict=False)
        ]
        given += [extent(bound[name], rewriter) for name in op.names]
        known: dict[SSAValue, SSAValue] = dict(zip(block.args, given, strict=True))
        *body, last = block.ops
        for inner in body:
            clone = rewriter.insert(inner.clone(known))
            known |= dict(zip(inner.results, clone.results, strict=True))
        pairs = zip(last.operands, op.results, strict=True)
        results = [_with_shape(known.get(value, value), result, rewriter) for value, result in pairs]
        rewriter.replace(op, [], results)


def _with_shape(value: SSAValue, like: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A tensor in the shape of another one."""
    if tensor_of(value).get_shape() == tensor_of(like).get_shape():
        return value
    return rewriter.insert(tensor.CastOp(value, tensor_of(like))).results[0]
