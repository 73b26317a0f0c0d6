"""Greedy application of patterns: two that take turns are found, however often they are applied."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.patterns.driver.greedy import GreedyPatterns, apply_patterns
from stepwell.runtime.errors import StepwellError


class AsNeg(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AbsOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.NegOp(op.input))


class AsAbs(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.NegOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.AbsOp(op.input))


class InPlace(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AbsOp, rewriter: PatternRewriter) -> None:
        rewriter.notify_op_modified(op)


def _module(ops: list[str], result: str) -> ModuleOp:
    body = "\n".join(ops)
    text = f"func.func @main(%x: tensor<2x3xf32>) -> {result} {{\n{body}\nfunc.return %y : {result}\n}}"
    return parse_module(StepwellContext(), text)


def _abs() -> Region:
    (func,) = _module(["%y = graph.abs %x : tensor<2x3xf32> -> tensor<2x3xf32>"], "tensor<2x3xf32>").ops
    assert isinstance(func, FuncOp)
    return func.body


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([AsNeg(), AsAbs()], "AsNeg and AsAbs work on what the other makes"),
        ([InPlace()], "InPlace works on what it makes"),
    ],
    ids=["turns", "in-place"],
)
def test_endless_patterns(patterns: list[RewritePattern], names: str) -> None:
    with pytest.raises(StepwellError, match=f"does not end: {names}, 108 times in a row") as error:
        apply_patterns(_abs(), patterns)
    assert error.value.code == "endless-rules"


def test_rules_that_take_turns_across_applications() -> None:
    """As in a pass that goes over its function again after it has erased what is dead."""

    class OncePerRound(RewritePattern):
        is_ready = True

        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: graph.AbsOp, rewriter: PatternRewriter) -> None:
            if self.is_ready:
                self.is_ready = False
                rewriter.replace(op, graph.NegOp(op.input))

    pattern = OncePerRound()
    region = _abs()
    patterns = GreedyPatterns(region, [pattern, AsAbs()])
    with pytest.raises(StepwellError, match="AsAbs and OncePerRound|OncePerRound and AsAbs"):
        while patterns.apply():
            pattern.is_ready = True


def test_long_way_of_one_op_is_no_endless_one() -> None:
    """A slice moves before each of 300 transposes, each time matched as the pattern made it."""
    kinds = ("tensor<2x3xf32>", "tensor<3x2xf32>")
    ops = ["%0 = graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>"]
    for i in range(300):
        ops.append(f"%{i + 1} = graph.transpose %{i} perm [1, 0] : {kinds[i % 2]} -> {kinds[1 - i % 2]}")
    slice = "%y = graph.slice %300 starts <[0, 0]> limits <[1, 3]> steps [1, 1]"
    ops.append(f"{slice} : tensor<2x3xf32> -> tensor<1x3xf32>")
    module = _module(ops, "tensor<1x3xf32>")
    run_pipeline(module, "simplify-expr", StepwellContext())
    assert sum(op.name == "graph.transpose" for op in module.walk()) == 0
