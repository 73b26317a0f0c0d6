"""Explanations: the deepest partial match, what failed and what was found instead."""

from __future__ import annotations

import pytest

from stepwell.patterns import Pattern, dominates, explain, is_constant, is_op, is_var, wildcard
from stepwell.patterns.explain import closest
from tests.patterns import elementwise

W = wildcard


def op(name: str, *args: Pattern) -> Pattern:
    return is_op(f"graph.{name}")(*(args or (None,)))


def shared() -> Pattern:
    x = W()
    return op("add", op("tanh", x), op("neg", x))


@pytest.mark.parametrize(
    ("pattern", "place", "reason"),
    [
        (op("add", op("tanh", op("exp", W())), W()), "graph.relu", "expected graph.exp, found graph.relu"),
        (op("add", op("tanh", W()), is_constant()), "graph.neg", "expected a constant, found graph.neg"),
        (op("add", W()), "graph.add", "expected 1 operands, found 2"),
        (shared(), "%y, an argument", "it is the same object as graph.relu"),
        (op("add", op("tanh", W()).has_dtype("int32"), W()), "graph.tanh", "found float32"),
        (op("add", op("tanh", W()).has_attr({"a": 1}), W()), "graph.tanh", "found no such attribute"),
        (op("add", op("tanh", W()), op("neg", is_var("x"))), "%y, an argument", "expected argument 'x'"),
        (
            dominates(op("matmul"), is_op("trait:elementwise"), op("add", W(), W())),
            "graph.add",
            "not all ways up from graph.add",
        ),
        (op("add", op("tanh", W().where(lambda value: False)), W()), "graph.relu", "does not hold"),
    ],
)
def test_the_deepest_failure_is_explained(pattern: Pattern, place: str, reason: str) -> None:
    graph = elementwise("r = relu x; t = tanh r; n = neg y; o = add t, n")
    found = explain(pattern, graph["o"])
    assert found is not None
    assert f"fails at {place}" in str(found) and reason in found.reason, str(found)


@pytest.mark.parametrize(
    ("pattern", "place", "reason"),
    [
        (op("multiply", W(), W(), W()), "graph.multiply", "expected 3 operands, found 2"),
        (is_op("graph.multiply").has_attr({"a": 1})(W(), W()), "graph.multiply", "no such attribute"),
        (op("multiply", op("exp", W()), W()), "graph.relu", "expected graph.exp"),
        (op("multiply", W(), W()).has_dtype("int8"), "graph.multiply", "expected elements int8"),
        (op("relu").has_dtype("int8"), "graph.relu", "expected elements int8"),
        (op("multiply", op("relu", op("add", W(), is_constant())), W()), "%y", "expected a constant"),
    ],
)
def test_the_nearest_miss_wins_over_what_stands_before_it(pattern: Pattern, place: str, reason: str) -> None:
    graph = elementwise("n = neg x; b = add n, y; r = relu b; q = multiply r, y; t = tanh q; u = add t, y")
    matched, nearest = closest(pattern, graph.func)
    assert not matched and nearest is not None
    assert f"fails at {place}" in str(nearest) and reason in nearest.reason, str(nearest)


def test_a_match_needs_no_explanation() -> None:
    assert explain(op("relu", W()), elementwise("r = relu x")["r"]) is None
