"""Patterns as newcomers write them: other names of types, rules that cannot work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph as g
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.attributes import AttributeLike
from stepwell.dialects.parser import parse_module
from stepwell.patterns import (
    GraphPattern,
    Pattern,
    Rule,
    explain,
    from_text,
    is_op,
    is_var,
    match,
    partition,
    rewrite,
    rewrite_graph,
    wildcard,
)
from stepwell.patterns.graph_mode import Bound
from stepwell.patterns.rewriting import NodeMap
from stepwell.runtime.errors import StepwellError
from tests.patterns import elementwise

RELU = '%r = pattern.op "graph.relu"(%x)'


@pytest.mark.parametrize("name", ["float32", "f32"])
def test_an_element_type_has_two_names(name: str) -> None:
    relu = is_op("graph.relu")(None)
    assert match(relu.has_dtype(name), elementwise("r = relu x")["r"]) is not None
    assert match(relu.has_dtype(name), elementwise("r = relu x", type="tensor<4xf16>")["r"]) is None


def test_an_element_type_that_does_not_exist() -> None:
    with pytest.raises(StepwellError, match=r"no element type is named 'flaot32'[^?]*did you mean float32\?"):
        match(wildcard().has_dtype("flaot32"), elementwise("r = relu x")["r"])


def test_operands_of_patterns_are_patterns() -> None:
    value: object = elementwise("r = relu x")["x"]
    with pytest.raises(StepwellError, match=r"an operand is a pattern, found BlockArgument"):
        is_op("graph.relu")(cast(Pattern, value))


def partitioned(attrs: Mapping[str, object]) -> str:
    """A function with a `graph.relu` in a composite of some attributes, as text."""
    func = elementwise("r = relu x")["r"].owner.parent_op()  # pyright: ignore[reportAttributeAccessIssue]
    partition(is_op("graph.relu")(None), cast(FuncOp, func), cast("Mapping[str, AttributeLike]", attrs))
    return str(cast(FuncOp, func))


def test_python_values_become_attributes() -> None:
    text = partitioned({"composite": "text", "n": 2, "on": True, "f": 0.5, "list": [1, "a"]})
    wanted = 'composite = "text", n = 2 : i64, on = true, f = 5.000000e-01 : f64, list = [1 : i64, "a"]'
    assert wanted in text


@pytest.mark.parametrize("value", [None, {"a": 1}, {1}, b"a", 1 << 70, [None]], ids=str)
def test_python_values_that_are_no_attributes(value: object) -> None:
    for use in (partitioned, wildcard().has_attr):
        with pytest.raises(StepwellError, match="expected an attribute, or a bool, ") as error:
            use({"a": value})  # pyright: ignore[reportArgumentType]
        assert error.value.code == "type-mismatch"


def test_what_is_not_wanted_is_named() -> None:
    found = explain(is_op("graph.relu")(~is_var()), elementwise("r = relu x")["r"])
    assert found is not None and found.reason == "expected not an argument, found %x, an argument"


def _op(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> object:
    return rewriter.insert(g.AbsOp(pre.owner.operands[0]))  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("callback", "found"), [(_op, "_op returned graph.abs"), (lambda *_: None, "<lambda> returned None")]
)
def test_a_callback_returns_a_value(callback: Callable[..., SSAValue], found: str) -> None:
    with pytest.raises(StepwellError, match=f"{found}, not the value that replaces the match") as error:
        rewrite([Rule(is_op("graph.relu")(None), callback)], elementwise("r = relu x").func)
    assert error.value.code == "bad-rule"


def test_a_callback_of_a_graph_returns_values() -> None:
    graph = elementwise("r = relu x; t = tanh r")
    with GraphPattern() as pattern:
        first, last = is_op("graph.relu")(None), is_op("graph.tanh")(None)
        _ = first >> last

    def callback(bound: Bound, rewriter: PatternRewriter) -> dict[SSAValue, SSAValue]:
        made: dict[SSAValue, object] = {bound[last]: rewriter.insert(g.AbsOp(bound[first]))}
        return made  # pyright: ignore[reportReturnType]

    with pytest.raises(StepwellError, match="the callback returned graph.abs, not the value"):
        rewrite_graph(pattern, callback, graph.func)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"%y = pattern.any\n{RELU}\npattern.replace %r, %y", "%y is no part of what the rule matches"),
        (
            f'%y = pattern.any\n{RELU}\n%n = pattern.make "graph.abs"(%y)\npattern.replace %r, %n',
            "%y is no part of what the rule matches",
        ),
        (
            f'{RELU}\n%n = pattern.make "graph.add"(%x)\npattern.replace %r, %n',
            "graph.add takes 2 operands, found 1",
        ),
        (
            f'{RELU}\n%s = pattern.has_dtype %r "float23"\npattern.replace %s, %x',
            "no element type is named 'float23'",
        ),
    ],
)
def test_rules_in_text_that_cannot_work(body: str, message: str) -> None:
    ctx = StepwellContext()
    module = parse_module(ctx, f"pattern.rule @p {{\n%x = pattern.any\n{body}\n}}")
    with pytest.raises(StepwellError, match=message):
        from_text(module, ctx)


def test_no_nearest_name_is_better_than_a_far_one() -> None:
    ctx = StepwellContext()
    text = 'pattern.def @p {\n%r = pattern.op "mine.a"(...)\npattern.yield %r\n}'
    assert [warning for _, warning in from_text(parse_module(ctx, text), ctx).warnings] == [
        "no dialect has an op mine.a"
    ]
