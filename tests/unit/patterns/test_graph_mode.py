"""Graph mode: patterns with edges, bound one to one, and rewritten together."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph as g
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.patterns import (
    GraphPattern,
    Pattern,
    from_text,
    is_constant,
    is_op,
    is_var,
    match_graph,
    rewrite_graph,
    to_text,
    wildcard,
)
from stepwell.patterns.graph_mode import Bound
from stepwell.runtime.errors import StepwellError
from tests.patterns import Graph, elementwise

W = wildcard


def op(name: str, *args: Pattern) -> Pattern:
    return is_op(f"graph.{name}")(*(args or (None,)))


def test_the_first_binding_is_taken() -> None:
    graph = elementwise("a = relu x; b = tanh x; s = add a, b")
    with GraphPattern() as pattern:
        x, user = is_var("x"), W()
        _ = x ^ user
    found = match_graph(pattern, graph.func)
    assert found is not None and found[user] is graph["a"]


def test_an_edge_to_the_only_user() -> None:
    graph = elementwise("m = matmul x, y; r = relu m")
    for user, expected in (("relu", True), ("tanh", False)):
        with GraphPattern() as pattern:
            _ = is_op("graph.matmul") >> is_op(f"graph.{user}")
        assert (match_graph(pattern, graph.func) is not None) == expected


@pytest.mark.parametrize(("only", "expected"), [(False, True), (True, False)])
def test_a_diamond(only: bool, expected: bool) -> None:
    graph = elementwise("m = matmul x, y; r = relu m; t = tanh m; s = add r, t")
    with GraphPattern() as pattern:
        fork, left, right, join = (op(name) for name in ("matmul", "relu", "tanh", "add"))
        fork.used_by(left, only=only)
        fork.used_by(right, only=only)
        _ = left >> join
        _ = right >> join
    found = match_graph(pattern, graph.func)
    assert (found is not None) == expected
    if found is not None:
        assert [found[p] for p in (fork, left, right, join)] == [graph[name] for name in "mrts"]


def test_interchangeable_patterns_bind_in_program_order() -> None:
    graph = elementwise("a = relu x; b = relu x; s = subtract b, a")
    with GraphPattern() as pattern:
        x, first, second = is_var("x"), op("relu"), op("relu").dup()
        x.fork_to(first, second)
    found = match_graph(pattern, graph.func)
    assert found is not None and (found[first], found[second]) == (graph["a"], graph["b"])
    with GraphPattern() as pattern:
        first, second, last = op("relu"), op("relu"), op("subtract")
        first.used_by(last, 0)
        second.used_by(last, 1)
    found = match_graph(pattern, graph.func)
    assert found is not None and (found[first], found[second]) == (graph["b"], graph["a"])


def test_equal_shapes() -> None:
    graph = Graph("""
      func.func @main(%x: tensor<4xf32>, %y: tensor<1xf32>) -> tensor<4xf32> {
        %a = graph.add %y, %x : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
        func.return %a : tensor<4xf32>
      }""")
    with GraphPattern() as pattern:
        x, add = is_var(), op("add")
        _ = x ^ add
        x.same_shape_as(add)
    found = match_graph(pattern, graph.func)
    assert found is not None and found[x] is graph["x"]


def three_matmuls() -> tuple[GraphPattern, Pattern, list[Pattern], list[Pattern]]:
    with GraphPattern() as pattern:
        x = W()
        weights: list[Pattern] = [W(), W(), W()]
        products = [op("matmul", x, weight) for weight in weights]
        x.fork_to(*products)
    return pattern, x, weights, products


def test_three_products_of_one_input() -> None:
    pattern, x, weights, _ = three_matmuls()
    body = "q = matmul x, a; k = matmul x, b; v = matmul {}, c; s = add q, k; t = add s, v"
    graph = elementwise(body.format("x"), "x, y, a, b, c")
    found = match_graph(pattern, graph.func)
    assert found is not None and found[x] is graph["x"]
    assert [found[weight] for weight in weights] == [graph[name] for name in "abc"]
    assert match_graph(pattern, elementwise(body.format("y"), "x, y, a, b, c").func) is None


def test_two_attention_blocks_are_rewritten() -> None:
    pattern, x, weights, products = three_matmuls()

    def merge(bound: Bound, rewriter: PatternRewriter) -> Mapping[SSAValue, SSAValue]:
        joined = rewriter.insert(g.ConcatOp([bound[weight] for weight in weights], 1))
        product = rewriter.insert(g.MatmulOp(bound[x], joined.result))
        parts = [
            rewriter.insert(g.SliceOp(product.result, [0, 4 * i], [4, 4 * i + 4], [1, 1]))
            for i in range(len(products))
        ]
        return {bound[old]: new.result for old, new in zip(products, parts, strict=True)}

    body = "q = matmul x, a; k = matmul x, b; n = neg q; v = matmul x, c; s = add n, k; y = add s, v;"
    body += "l = matmul y, a; d = neg d0; m = matmul y, b; o = matmul y, d; t = add l, m; u = add t, o"
    graph = elementwise(body, "x, a, b, c, d0")
    assert rewrite_graph(pattern, merge, graph.func) == 2
    verify_module(graph.module)
    assert graph.ops().count("matmul") == 2 and graph.ops().count("slice") == 6


def test_a_binding_whose_result_has_no_place_is_skipped() -> None:
    graph = elementwise("q = matmul x, a; n = neg q; k = matmul x, n; s = add n, k", "x, a")
    with GraphPattern() as pattern:
        x, first, second = W(), W(), W()
        products = [op("matmul", x, first), op("matmul", x, second)]
        x.fork_to(*products)
    heard: list[str] = []
    assert rewrite_graph(pattern, lambda b, r: {}, graph.func, remark=lambda _, why: heard.append(why)) == 0
    assert heard == ["not rewritten: an operand comes after a user of what it would replace"]


def test_distributing_a_product_over_a_sum() -> None:
    graph = elementwise("five = constant 5.0; a = add x, y; b = add a, z; o = multiply b, five", "x, y, z")
    with GraphPattern() as pattern:
        left, right, factor = W(), W(), W()
        product = op("multiply", op("add", left, right), factor)
        pattern.add(product)

    def distribute(bound: Bound, rewriter: PatternRewriter) -> Mapping[SSAValue, SSAValue]:
        first = rewriter.insert(g.MultiplyOp(bound[left], bound[factor]))
        second = rewriter.insert(g.MultiplyOp(bound[right], bound[factor]))
        return {bound[product]: rewriter.insert(g.AddOp(first.result, second.result)).result}

    rewrite_graph(pattern, distribute, graph.func)
    verify_module(graph.module)
    assert sorted(graph.ops()) == ["add", "add", "constant", *["multiply"] * 3, "return"]
    assert {op.operands[0] for op in graph.func.body.block.ops if isinstance(op, g.MultiplyOp)} == {
        graph[name] for name in "xyz"
    }


def test_a_rewrite_that_never_ends_is_an_error() -> None:
    graph = elementwise("r = relu x")
    with GraphPattern() as pattern:
        x = W()
        relu = op("relu", x)
        pattern.add(relu)

    def again(bound: Bound, rewriter: PatternRewriter) -> Mapping[SSAValue, SSAValue]:
        return {bound[relu]: rewriter.insert(g.ReluOp(bound[x])).result}

    with pytest.raises(
        StepwellError, match="does not end: again works on what it makes, 100 times in a row, at graph.relu"
    ):
        rewrite_graph(pattern, again, graph.func)


def test_an_edge_needs_a_graph() -> None:
    with pytest.raises(StepwellError, match="outside of a graph"):
        W().used_by(W())


def test_graphs_have_a_text_form() -> None:
    with GraphPattern() as made:
        shared = wildcard()
        first, second = (
            is_op("graph.matmul")(shared, wildcard()),
            is_op("graph.matmul")(shared, is_constant()),
        )
        total = op("add")
        first.used_by(total, only=True)
        second.used_by(total, 1)
        first.same_shape_as(second)
    text = to_text(made, "products")
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    verify_module(module)
    read = from_text(module, ctx).graphs["products"]
    assert to_text(read, "products") == text
    assert [(edge.index, edge.only) for edge in read.edges] == [(None, True), (1, False)]
    assert len(read.nodes) == 3 and len(read.same_shapes) == 1
