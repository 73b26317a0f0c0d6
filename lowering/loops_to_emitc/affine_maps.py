"""`affine` → arithmetic on indices."""

from __future__ import annotations

from xdsl.dialects import affine
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.tensor_ir.affine_values import affine_value
from stepwell.lowering.loops_to_emitc.pattern import Code, LoopsToEmitCPattern


class ApplyLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = affine.apply affine_map<(d0) -> (d0 * 4 + 1)> (%i)
    // ->
    %p = emitc.mul %i, %four : (index, index) -> index
    %r = emitc.add %p, %one : (index, index) -> index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: affine.ApplyOp | affine.MinOp, rewriter: PatternRewriter) -> None:
        """Evaluate the map; `affine.min` is the least of its results."""
        code, map = Code.before(op), op.map.data
        operands = [code.number_of(operand) for operand in op.operands]
        dims, symbols = operands[: map.num_dims], operands[map.num_dims :]
        values = [affine_value(code, result, dims, symbols) for result in map.results]
        result, *others = values
        for other in others:
            result = code.least(result, other)
        found = code.materialize(result)
        rewriter.replace(op, code.ops, [found])
