"""Analyses are computed once, and again when their op has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.tensor_ir.padding import PaddedTensors
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.call_graph import CallGraph
from stepwell.passes.analysis.manager import AnalysisManager, Cacheable, analysis
from stepwell.passes.base import ALL_ANALYSES, Pass, functions_of
from stepwell.passes.registry import load_pass, our_passes
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.greedy import apply_patterns, apply_patterns_once

_TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %z = graph.exp %y : tensor<4xf32> -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
_COMPUTED: Counter[str] = Counter()


@dataclass(frozen=True)
class OpNames:
    """The names of the ops of a function; it counts how often it is computed."""

    name: ClassVar[str] = "op-names"

    names: tuple[str, ...]

    @classmethod
    def of(cls, op: Operation) -> OpNames:
        """The names, in order."""
        assert isinstance(op, FuncOp)
        _COMPUTED[op.sym_name.data] += 1
        return cls(tuple(inner.name for inner in op.body.walk()))


@pytest.fixture(autouse=True)
def computed() -> Iterator[Counter[str]]:
    """The number of computations in a test, by function."""
    _COMPUTED.clear()
    yield _COMPUTED


def _parsed() -> tuple[ModuleOp, FuncOp, FuncOp]:
    module = parse_module(StepwellContext(), _TEXT)
    f, main = functions_of(module)
    return module, f, main


class _Replace(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, graph.AbsOp(op.input))


class _Insert(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.insert(graph.AbsOp(op.input))


class _Erase(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, [], [op.input])


class _Modify(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter) -> None:
        op.attributes["seen"] = StringAttr("yes")
        rewriter.notify_op_modified(op)


def _once(function: FuncOp, pattern: RewritePattern) -> None:
    apply_patterns_once(function.body.walk(), [pattern])


def _greedy(function: FuncOp, pattern: RewritePattern) -> None:
    apply_patterns(function.body, [pattern])


def _conversion(function: FuncOp, pattern: RewritePattern) -> None:
    convert(function, [pattern], [])


def test_computed_once_for_an_op(computed: Counter[str]) -> None:
    _, f, main = _parsed()
    with AnalysisManager().during((), cached=True):
        assert analysis(f, OpNames) is analysis(f, OpNames)
        assert analysis(main, OpNames).names == ("graph.relu", "func.return")
    assert computed == {"f": 1, "main": 1}


@pytest.mark.parametrize(
    ("driver", "pattern", "names"),
    [
        (_once, _Replace(), ("graph.abs", "graph.exp", "func.return")),
        (_greedy, _Replace(), ("graph.abs", "graph.exp", "func.return")),
        (_conversion, _Replace(), ("graph.abs", "graph.exp", "func.return")),
        (_once, _Insert(), ("graph.abs", "graph.relu", "graph.exp", "func.return")),
        (_once, _Erase(), ("graph.exp", "func.return")),
        (_greedy, _Erase(), ("graph.exp", "func.return")),
        (_once, _Modify(), ("graph.relu", "graph.exp", "func.return")),
    ],
)
def test_dropped_when_an_op_inside_changes(
    driver: Callable[[FuncOp, RewritePattern], None],
    pattern: RewritePattern,
    names: tuple[str, ...],
    computed: Counter[str],
) -> None:
    _, f, main = _parsed()
    with AnalysisManager().during((), cached=True):
        analysis(f, OpNames)
        analysis(main, OpNames)
        driver(f, pattern)
        assert analysis(f, OpNames).names == names
        analysis(main, OpNames)
    assert computed == {"f": 2, "main": 1}


def test_dropped_after_a_pass_that_does_not_preserve_it(computed: Counter[str]) -> None:
    _, f, _ = _parsed()
    manager = AnalysisManager()
    for preserved, times in (((), 1), (("other",), 2), (("op-names",), 3), (ALL_ANALYSES, 3), ((), 3)):
        with manager.during(preserved, cached=True):
            analysis(f, OpNames)
        assert computed["f"] == times


def test_dropped_after_a_pass_that_fails(computed: Counter[str]) -> None:
    _, f, _ = _parsed()
    manager = AnalysisManager()
    with pytest.raises(ValueError), manager.during(ALL_ANALYSES, cached=True):
        analysis(f, OpNames)
        raise ValueError
    with manager.during((), cached=True):
        analysis(f, OpNames)
    assert computed["f"] == 2


@dataclass(frozen=True)
class ChangesUnnoticedPass(Pass):
    """A pass of a plugin, which changes ops by xDSL's own functions between two questions."""

    name = "changes-unnoticed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        f = functions_of(op)[0]
        assert analysis(f, OpNames).names[0] == "graph.relu"
        block = f.body.block
        relu = block.first_op
        assert relu is not None
        relu.results[0].replace_all_uses_with(relu.operands[0])
        block.erase_op(relu)
        assert analysis(f, OpNames).names[0] == "graph.exp"


def test_a_pass_of_a_plugin_gets_what_is_true_now_and_leaves_nothing(computed: Counter[str]) -> None:
    run_pipeline(_parsed()[0], [ChangesUnnoticedPass()])
    assert computed == {"f": 2}
    assert AnalysisManager.current() is None


def _count(kind: type[Cacheable], monkeypatch: pytest.MonkeyPatch) -> Counter[Operation]:
    """Counts the computations of an analysis of ours by its op."""
    counted: Counter[Operation] = Counter()
    compute = kind.of

    def counting(op: Operation) -> Cacheable:
        counted[op] += 1
        return compute(op)

    monkeypatch.setattr(kind, "of", counting)
    return counted


@pytest.mark.parametrize(
    ("pipeline", "times"),
    [
        ("print-call-graph,detect-features,count-macs,print-call-graph", 1),
        ("print-call-graph,simplify-expr,print-call-graph", 2),
    ],
)
def test_passes_of_a_pipeline_share_a_call_graph(
    pipeline: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = _parsed()[0]
    counted = _count(CallGraph, monkeypatch)
    run_pipeline(module, pipeline)
    assert counted == {module: times}


def test_padding_is_found_once_for_all_products_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(__file__).parents[3] / "filecheck/tensor/schedule/choose-schedules.mlir"
    (text,) = [part for part in file.read_text().split("// -----") if "@narrow_border(" in part]
    module = parse_module(StepwellContext(), text)
    counted = _count(PaddedTensors, monkeypatch)
    run_pipeline(module, "choose-schedules{mcpu=x86-64-v3},tile-and-fuse")
    assert list(counted.values()) == [1]


def test_passes_that_preserve_everything_change_nothing() -> None:
    found = [name for name in our_passes() if getattr(load_pass(name), "preserves", ()) == ALL_ANALYSES]
    assert found
    module = _parsed()[0]
    before = str(module)
    run_pipeline(module, ",".join(found))
    assert str(module) == before
