"""Powers of integers, by squaring."""

from __future__ import annotations

from xdsl.dialects import math, scf
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Block, Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.passes.loop.math.lanes import Lanes


class ExpandIntegerPower(RewritePattern):
    """
    Compute an integer power by a loop that squares the base and halves the exponent (exact, modulo 2^width).

    A negative exponent gives 0, but for the bases 1 and -1, which are their own inverses.

    ```mlir
    %y = math.ipowi %x, %n : i32
    // ->
    %y, %b, %e = scf.while … { the exponent is not 0 } do { … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.IPowIOp, rewriter: PatternRewriter) -> None:
        type = op.result.type
        if isinstance(type, VectorType):
            return
        # Start values: a negative exponent becomes positive, its base 1, -1 or 0.
        base, exponent = Lanes(rewriter, op.lhs), Lanes(rewriter, op.rhs)
        negative = exponent.compare("slt", 0)
        unit = (base * base).compare("eq", 1)
        start = negative.choose(unit.choose(base, 0), base)
        count = negative.choose(exponent.of(0) - exponent, exponent)
        regions = [Region(Block(arg_types=[type] * 3)) for _ in range(2)]
        loop = scf.WhileOp([base.of(1).value, start.value, count.value], [type] * 3, *regions)
        _fill_condition(regions[0].block)
        _fill_step(regions[1].block)
        rewriter.insert(loop)
        rewriter.replace(op, [], [loop.results[0]])


def _fill_condition(block: Block) -> None:
    builder = IRBuilder.at_end(block)
    more = Lanes(builder, block.args[2]).compare("ne", 0)
    builder.insert(scf.ConditionOp(more.value, *block.args))


def _fill_step(block: Block) -> None:
    builder = IRBuilder.at_end(block)
    result, base, count = (Lanes(builder, arg) for arg in block.args)
    odd = (count & 1).compare("ne", 0)
    values = [odd.choose(result * base, result), base * base, count.halved()]
    builder.insert(scf.YieldOp(*(lanes.value for lanes in values)))
