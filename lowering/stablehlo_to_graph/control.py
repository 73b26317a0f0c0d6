"""Control flow: loops, and choices between regions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects import graph, stablehlo
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.lowering.stablehlo_to_graph.pattern import StablehloLowering, WeightLowering
from stepwell.lowering.to_graph import ForeignPatterns, Formula
from stepwell.patterns.driver.conversion import convert
from stepwell.runtime.files.weights import WeightStore


class StablehloPatterns(ForeignPatterns):
    """The patterns of the conversion: those of an op table, and of control flow."""

    def __init__(self, weights: WeightStore):
        calls = StablehloLowering(weights)
        super().__init__(calls, WeightLowering())
        self._control: dict[type[Operation], RewritePattern] = {
            stablehlo.WhileOp: WhileLowering(self),
            stablehlo.IfOp: ChoiceLowering(self, calls),
            stablehlo.CaseOp: ChoiceLowering(self, calls),
            stablehlo.ReturnOp: ReturnLowering(),
        }

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        found = self._control.get(op_type)
        return super().of(op_type) if found is None else (found,)


class ReturnLowering(RewritePattern):
    """
    The end of a region → `graph.yield`.

    ```mlir
    "stablehlo.return"(%y) : (tensor<4xf32>) -> ()
    // ->
    graph.yield %y : tensor<4xf32>
    ```
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace the op by a yield of the same values."""
        if isinstance(op, stablehlo.ReturnOp):
            rewriter.replace(op, graph.YieldOp(op.values), [])


@dataclass
class WhileLowering(RewritePattern):
    """`stablehlo.while` → `graph.while` of the converted regions, with arguments of the operands' types."""

    patterns: StablehloPatterns

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert both regions, then move them."""
        if not isinstance(op, stablehlo.WhileOp):
            return
        for region in op.bodies:
            for argument, value in zip(region.block.args, op.inputs, strict=True):
                set_type(argument, value.type)
        convert(op, self.patterns, illegal=["stablehlo"])
        test, body = (op.detach_region(region) for region in list(op.bodies))
        made = graph.WhileOp(op.inputs, test, body, fresh=lambda count: fresh_symbols(op, count))
        rewriter.replace(op, made, list(made.results[: len(op.outputs)]))


@dataclass
class ChoiceLowering(RewritePattern):
    """`stablehlo.if` and `stablehlo.case` → a `graph.if` for each region but the last one."""

    patterns: StablehloPatterns
    calls: StablehloLowering

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Convert the regions, then nest the choices."""
        if not isinstance(op, stablehlo.ChoiceOp):
            return
        convert(op, self.patterns, illegal=["stablehlo"])
        regions = [op.detach_region(region) for region in list(op.bodies)]
        index = Formula(self.calls, rewriter).value(op.inputs[0])
        if isinstance(op, stablehlo.IfOp):
            conditions = [index.ssa]
        else:
            conditions = [index.equals(number).ssa for number in range(len(regions) - 1)]
        rest = regions[-1]
        for condition, region in reversed(list(zip(conditions, regions, strict=False))[1:]):
            rest = _choice(op, condition, region, rest)
        made = graph.IfOp(conditions[0], regions[0], rest, fresh=lambda count: fresh_symbols(op, count))
        rewriter.replace(op, made, list(made.results[: len(op.outputs)]))


def _choice(op: Operation, condition: SSAValue, first: Region, second: Region) -> Region:
    """A region that has a choice between two others."""
    made = graph.IfOp(condition, first, second, fresh=lambda count: fresh_symbols(op, count))
    count = len(op.results)
    return Region(Block([made, graph.YieldOp(made.results[:count])]))
