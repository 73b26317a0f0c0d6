"""Explanations: the deepest partial match, what failed and what was found instead."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation

from stepwell.patterns import Pattern, dominates, explain, is_constant, is_op, is_var, wildcard
from stepwell.patterns.explanation import closest
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
            "no op above it is graph.matmul",
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


def test_values_are_restricted_to_a_node_or_a_line() -> None:
    graph = elementwise("r = relu x; t = relu y; u = add r, t")
    assert isinstance(made := graph["t"].owner, Operation)
    made.location = NameLoc(StringAttr("Relu_7"), UnknownLoc())
    assert closest(op("relu"), graph.func, "Relu_7")[0] == [graph["t"]]
    assert closest(op("relu"), graph.func, "Relu_8") == ([], None)
    assert closest(op("relu"), graph.func, "2")[0] == [graph["r"]]


DIAMOND = "c = matmul x, y; r = relu c; l = tanh c; o = add r, l"


@pytest.mark.parametrize(
    ("body", "returns", "place", "reason"),
    [
        # Another op, the function's result, or an op in a branch uses a value of the path.
        (f"{DIAMOND}; u = neg r", "o, u", "graph.relu", "graph.neg uses it too, which leads past graph.add"),
        (DIAMOND, "o, l", "graph.tanh", "func.return uses it too, which leads past graph.add"),
        (DIAMOND, "o, c", "graph.matmul", "func.return uses it too, which leads past graph.add"),
        (
            "c = matmul x, y; r = relu c; s = relu x; t = neg s; o = add t, r",
            "o",
            "graph.relu",
            "a way starts here",
        ),
        ("c = matmul x, y; d = matmul y, x; o = add c, d", "o", "graph.matmul", "a way starts here"),
        ("r = relu x; l = tanh r; o = add r, l", "o", "graph.add", "no op above it is graph.matmul"),
        ("o = add x, y", "o", "graph.add", "no op above it is graph.matmul"),
    ],
)
def test_the_op_that_leaves_a_path_is_named(body: str, returns: str, place: str, reason: str) -> None:
    """Its name in the text too: two ops of one kind are told apart."""
    pattern = dominates(op("matmul"), is_op("trait:elementwise"), op("add", W(), W()))
    found = explain(pattern, elementwise(body, returns=returns)["o"])
    assert found is not None
    assert f"fails at {place}" in str(found), str(found)
    assert reason in re.sub(r" \(<stdin>:[\d:]+\)", "", found.reason)


def test_the_op_that_is_not_of_the_path_is_named() -> None:
    found = explain(dominates(op("matmul"), op("relu"), op("add")), elementwise(DIAMOND)["o"])
    assert found is not None and found.value.name_hint == "l" and "expected graph.relu" in found.reason


def test_a_match_needs_no_explanation() -> None:
    assert explain(op("relu", W()), elementwise("r = relu x")["r"]) is None
