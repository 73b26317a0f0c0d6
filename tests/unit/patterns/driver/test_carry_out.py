"""Rewrites of conversions, greedy passes and dataflow rules: located, counted, limited, never endless."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

import stepwell as sw
from stepwell.dialects import graph
from stepwell.patterns import Rule, is_op, rewrite, wildcard
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.greedy import apply_patterns, apply_patterns_once
from stepwell.patterns.rewriting import NodeMap
from stepwell.runtime.errors import StepwellError

TEXT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32> loc("first")
  %b = graph.relu %a : tensor<4xf32> -> tensor<4xf32> loc("second")
  func.return %b : tensor<4xf32>
}
"""


class AsNeg(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.NegOp(op.input))


class AsRelu(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.ReluOp(op.input))


class Never(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        return


def replace(
    make: Callable[[SSAValue], Operation],
) -> Callable[[SSAValue, SSAValue, NodeMap, PatternRewriter], SSAValue]:
    def callback(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        owner = pre.owner
        assert isinstance(owner, Operation)
        return rewriter.insert(make(owner.operands[0])).results[0]

    return callback


def as_neg(function: FuncOp) -> None:
    rewrite([Rule(is_op("graph.relu")(wildcard()), replace(graph.NegOp), name="AsNeg")], function)


def as_relu(function: FuncOp) -> None:
    rewrite([Rule(is_op("graph.relu")(wildcard()), replace(graph.ReluOp), name="AsRelu")], function)


# Each way to apply the pattern AsNeg, after one that does nothing, and one for AsRelu, which never ends.
ONCE: dict[str, Callable[[FuncOp], object]] = {
    "conversion": lambda f: convert(f, [Never(), AsNeg()], []),
    "conversion-of-new-ops": lambda f: convert(f, [Never(), AsNeg()], [], convert_new_ops=True),
    "greedy": lambda f: apply_patterns(f.body, [Never(), AsNeg()]),
    "each-op-once": lambda f: apply_patterns_once(f.body.walk(), [Never(), AsNeg()]),
    "dataflow": as_neg,
}
ENDLESS: dict[str, tuple[Callable[[FuncOp], object], int]] = {
    "conversion": (lambda f: convert(f, [AsRelu()], [], convert_new_ops=True), 100),
    "greedy": (lambda f: apply_patterns(f.body, [AsRelu()]), 112),  # 100, and 4 for each op
    "dataflow": (as_relu, 100),
}


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    return function


class Counts(RewriteListener):
    """Counts rewrites by pattern, and forbids those beyond a limit."""

    def __init__(self, limit: int = 1000):
        self.found = Counter[str]()
        self.made: list[str] = []
        self.limit = limit

    def may_rewrite(self, pattern: str, op: Operation) -> bool:
        return self.found.total() < self.limit

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        self.found[pattern] += 1
        self.made += [new.name for new in made]


@pytest.mark.parametrize("way", ONCE)
def test_new_ops_have_the_location_of_the_op(way: str) -> None:
    module = sw.parse(TEXT).op
    ONCE[way](function_of(module))
    found = [str(op.location) for op in module.walk() if op.name == "graph.neg"]
    assert [name in text for name, text in zip(("first", "second"), found, strict=True)] == [True, True]


def test_ops_inside_new_ops_have_a_location_too_and_given_ones_stay() -> None:
    class AsLambda(RewritePattern):
        @op_type_rewrite_pattern
        def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
            inside = sw.parse(TEXT.replace("second", "own")).op
            for inner in inside.walk():
                if "first" in str(inner.location):
                    inner.location = UnknownLoc()  # pyright: ignore[reportAttributeAccessIssue]
            rewriter.insert(inside)
            rewriter.replace(op, graph.NegOp(op.input))

    module = sw.parse(TEXT).op
    apply_patterns_once(function_of(module).body.walk(), [AsLambda()])
    inner = [op for op in module.walk() if op.name == "graph.relu"]
    places = [next(n for n in ("first", "second", "own") if n in str(op.location)) for op in inner]
    assert places == ["first", "own", "second", "own"]


@pytest.mark.parametrize("way", ONCE)
def test_rewrites_are_counted(way: str) -> None:
    """What did something, once each: the pattern before did nothing."""
    with listening(outer := Counts()), listening(counts := Counts()):
        ONCE[way](function_of(sw.parse(TEXT).op))
    ONCE[way](function_of(sw.parse(TEXT).op))
    assert counts.found == outer.found == {"AsNeg": 2}
    assert counts.made == ["graph.neg"] * 2


@pytest.mark.parametrize("way", ONCE)
def test_rewrites_are_limited(way: str) -> None:
    """The first of two is done, as in a search for the one that breaks a program."""
    module = sw.parse(TEXT).op
    with listening(Counts(limit=1)):
        ONCE[way](function_of(module))
    assert sorted(op.name for op in module.walk() if "graph" in op.name) == ["graph.neg", "graph.relu"]


@pytest.mark.parametrize("way", ONCE)
def test_a_rewrite_is_announced_before_it_changes_anything(way: str) -> None:
    module = sw.parse(TEXT).op
    seen: list[tuple[str, list[str], int]] = []

    class Announced(RewriteListener):
        def rewriting(self, pattern: str, ops: Sequence[Operation]) -> None:
            done = sum(op.name == "graph.neg" for op in module.walk())
            seen.append((pattern, [op.name for op in ops], done))

    with listening(Announced()):
        ONCE[way](function_of(module))
    assert seen == [("AsNeg", ["graph.relu"], done) for done in range(2)]


@pytest.mark.parametrize("way", ENDLESS)
def test_endless_rewriting_is_one_error(way: str) -> None:
    """It names the pattern, the limit, the op, and its node."""
    apply, limit = ENDLESS[way]
    with pytest.raises(StepwellError) as caught:
        apply(function_of(sw.parse(TEXT).op))
    assert caught.value.code == "endless-rules"
    assert caught.value.message == (
        f"rewriting does not end: AsRelu works on what it makes, {limit} times in a row, at graph.relu"
    )
    assert 'node "first"' in caught.value.where or 'node "second"' in caught.value.where


def test_an_instrument_counts_rewrites_by_pass() -> None:
    inner, outer = sw.RewriteCounts(), sw.RewriteCounts()
    text = TEXT.replace("graph.relu", "graph.transpose").replace("4x", "4x4x")
    text = re.sub(r"(transpose %.) :", r"\1 perm [1, 0] :", text)
    with sw.PassContext(instruments=[outer]):
        sw.parse(text).run("cse,simplify-expr", instruments=[inner])
    sw.parse(text).run("simplify-expr")
    wanted = {"simplify-expr": {"ComposeTransposes": 1, "TransposeAsView": 1, "DropIdentity": 1}}
    assert inner.counts == outer.counts == wanted
