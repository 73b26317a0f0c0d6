"""`legalize` with patterns of another package: found by set and op, told the target, each op once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.passes.graph.legalize.legalizations import legalization
from stepwell.runtime.machine.target import TargetDescription

TARGETS: list[TargetDescription] = []


@legalization("test-set")
@dataclass
class NegateSizes(RewritePattern):
    """-|x| for floats; makes an op of the kind that it replaces."""

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NegOp, rewriter: PatternRewriter) -> None:
        TARGETS.append(self.target)
        if str(op.result.type) == "tensor<4xf32>":
            rewriter.replace(op, graph.NegOp(rewriter.insert(graph.AbsOp(op.input)).result))


TEXT = """
func.func @main(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
  %z = graph.neg %y : tensor<4xf32> -> tensor<4xf32>
  %j = graph.neg %i : tensor<4xi32> -> tensor<4xi32>
  func.return %z, %j : tensor<4xf32>, tensor<4xi32>
}
"""


def test_each_op_is_offered_once() -> None:
    ctx = StepwellContext()
    module = parse_module(ctx, TEXT)
    run_pipeline(module, "legalize{set=test-set}", ctx)
    names = [op.name for op in module.walk() if op.name.startswith("graph.")]
    assert names == ["graph.abs", "graph.neg", "graph.abs", "graph.neg", "graph.neg"]
    assert TARGETS == [ctx.target] * 3


def test_it_runs_from_level_1_on() -> None:
    for level in (0, 1):
        ctx = StepwellContext()
        module = parse_module(ctx, TEXT)
        with PassContext(opt_level=level):
            run_pipeline(module, "legalize{set=test-set}", ctx)
        assert str(module).count("graph.abs") == 2 * level
