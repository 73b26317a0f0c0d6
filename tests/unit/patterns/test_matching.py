"""Matching: the language's rules for one node, and for a whole pattern."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.test import TestOp, TestTermOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import graph as g
from stepwell.dialects.types import tensor_type
from stepwell.patterns import (
    FunctionPattern,
    Pattern,
    dominates,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    wildcard,
)
from stepwell.patterns.dominators import PostDominators
from stepwell.runtime.errors import StepwellError
from tests.patterns import Graph, elementwise


def op(name: str, *args: Pattern) -> Pattern:
    """A call of a `graph` op; without operands: the op on any."""
    return is_op(f"graph.{name}")(*args) if args else is_op(f"graph.{name}")(None)


def matches(pattern: Pattern, value: SSAValue) -> bool:
    return match(pattern, value) is not None


W = wildcard


@pytest.mark.parametrize(("kind", "commutes"), [("add", True), ("multiply", True), ("subtract", False)])
def test_operands_may_be_exchanged_where_the_op_commutes(kind: str, commutes: bool) -> None:
    graph = elementwise(f"a = {kind} x, y; b = {kind} y, x")
    pattern = op(kind, is_var("x"), is_var("y"))
    assert matches(pattern, graph["a"])
    assert matches(pattern, graph["b"]) == commutes


def test_an_op_matches_by_name() -> None:
    graph = elementwise("s = subtract x, y; r = relu s; a = add r, y")
    assert not matches(op("add", W(), W()), graph["s"])
    assert matches(W()(None), graph["r"])
    assert matches(W()(None), graph["a"])
    assert not matches(W()(None), graph["x"])
    assert matches(is_op("trait:elementwise")(None), graph["r"])
    assert not matches(is_op("trait:elementwise")(None), graph["a"])


@pytest.mark.parametrize(("kind", "expected"), [("add", True), ("subtract", False)])
def test_a_function_matches_by_its_arguments_and_body(kind: str, expected: bool) -> None:
    type = "tensor<4xf32>"
    graph = Graph(f"""
      func.func @main(%u: {type}, %v: {type}) -> {type} {{
        %f = graph.fused (%x = %u : {type}, %y = %v : {type}) -> ({type}) {{
          %s = graph.{kind} %x, %y : ({type}, {type}) -> {type}
          graph.yield %s : {type}
        }}
        func.return %f : {type}
      }}""")
    a, b = wildcard(), wildcard()
    assert matches(FunctionPattern([a, b], op("add", a, b)), graph["f"]) == expected
    assert matches(FunctionPattern(None, op(kind)), graph["f"])
    assert not matches(FunctionPattern([a], op(kind)), graph["f"])


@pytest.mark.parametrize(("kind", "expected"), [("add", True), ("subtract", False)])
def test_a_lambda_matches_by_its_arguments_and_body(kind: str, expected: bool) -> None:
    type = "tensor<4xf32>"
    graph = Graph(f"""
      func.func @main(%u: {type}) -> {type} {{
        %f = graph.lambda (%x: {type}, %y: {type}) -> ({type}) {{
          %s = graph.{kind} %x, %y : ({type}, {type}) -> {type}
          graph.yield %s : {type}
        }}
        %r = graph.call %f(%u, %u) : ({type}, {type}) -> {type}
        func.return %r : {type}
      }}""")
    a, b = wildcard(), wildcard()
    assert matches(FunctionPattern([a, b], op("add", a, b)), graph["f"]) == expected
    assert matches(FunctionPattern(None, op(kind)), graph["f"])
    assert not matches(FunctionPattern([a], op(kind)), graph["f"])
    function = FunctionPattern([a, b], op(kind, a, b))
    assert matches(is_op("graph.call")(function, W(), W()), graph["r"])


def test_an_if_of_the_graph_matches_part_by_part() -> None:
    text = """
      func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {{
        %c = graph.less %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %r = graph.if %c : tensor<i1> -> (tensor<f32>) {{
          graph.yield %{} : tensor<f32>
        }} else {{
          graph.yield %{} : tensor<f32>
        }}
        func.return %r : tensor<f32>
      }}"""
    x, y = is_var("x"), is_var("y")
    pattern = is_if(is_op("graph.less")(x, y), x, y)
    assert matches(pattern, Graph(text.format("x", "y"))["r"])
    assert not matches(pattern, Graph(text.format("y", "x"))["r"])


def test_a_branch_matches_part_by_part() -> None:
    text = """
      func.func @main(%x: f32, %y: f32) -> f32 {{
        %c = arith.cmpf olt, %x, %y : f32
        %r = scf.if %c -> (f32) {{ scf.yield %{} : f32 }} else {{ scf.yield %{} : f32 }}
        func.return %r : f32
      }}"""
    x, y = is_var("x"), is_var("y")
    pattern = is_if(is_op("arith.cmpf")(x, y).has_attr({"predicate": 4}), x, y)
    assert matches(pattern, Graph(text.format("x", "y"))["r"])
    assert not matches(pattern, Graph(text.format("y", "x"))["r"])


def test_optional_parts_in_a_row() -> None:
    graph = elementwise("c = matmul x, y; r = relu c; t = tanh c; tr = tanh r; rt = relu t", returns="tr, rt")
    pattern = op("matmul", W(), W()).optional(lambda p: op("relu", p)).optional(lambda p: op("tanh", p))
    assert all(matches(pattern, graph[name]) for name in ("c", "r", "t", "tr"))
    assert not matches(pattern, graph["rt"])


def test_tuples_match_by_their_fields() -> None:
    type = "tensor<2xf32>"
    graph = Graph(f"""
      func.func @main(%x: {type}, %y: {type}, %z: {type}) -> tensor<6xf32> {{
        %t = graph.tuple %x, %y, %z : {type}, {type}, {type}
        %g = graph.get %t [1] : tuple<{type}, {type}, {type}> -> {type}
        %a = graph.concat %x axis 0 : ({type}) -> {type}
        %b = graph.concat %x, %y axis 0 : ({type}, {type}) -> tensor<4xf32>
        %c = graph.concat %x, %y, %g axis 0 : ({type}, {type}, {type}) -> tensor<6xf32>
        func.return %c : tensor<6xf32>
      }}""")
    assert matches(is_tuple([W(), W(), W()]), graph["t"])
    assert not matches(is_tuple([W(), W(), W(), W()]), graph["t"])
    assert all(matches(op("concat", is_tuple(None)), graph[name]) for name in "abc")
    assert matches(op("concat", is_tuple([W(), W()])), graph["b"])
    assert not matches(op("concat", is_tuple([W(), W()])), graph["c"])
    assert matches(is_tuple_get_item(is_tuple(None), 1), graph["g"])
    assert matches(is_tuple_get_item(is_tuple(None)), graph["g"])
    assert not matches(is_tuple_get_item(is_tuple(None), 0), graph["g"])


def test_results_of_one_op_are_projections_of_it() -> None:
    graph = Graph("""
      func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
        %a, %b = "test.op"(%x) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
        %s = graph.subtract %b, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        func.return %s : tensor<2xf32>
      }""")
    split = is_op("test.op")(W())
    first, second = is_tuple_get_item(split, 0), is_tuple_get_item(split, 1)
    assert matches(op("subtract", second, first), graph["s"])
    assert not matches(op("subtract", first, second), graph["s"])


def test_types_shapes_and_elements() -> None:
    graph = Graph("""
      func.func @main(%x: tensor<10x10xi32>, %n: tensor<?x?xf32, #graph.dims<["N", "N"]>>,
                      %m: tensor<?x?xf32, #graph.dims<["N", "M"]>>) -> tensor<10x10xi32> {
        func.return %x : tensor<10x10xi32>
      }""")
    assert not matches(W().has_dtype("float32"), graph["x"])
    assert matches(W().has_dtype("int32"), graph["x"])
    assert not matches(W().has_shape((10, 5)), graph["x"])
    assert not matches(W().has_shape((10,)), graph["x"])
    assert matches(W().has_shape((None, 10)), graph["x"])
    assert matches(W().has_shape(("N", "N")), graph["n"])
    assert not matches(W().has_shape(("N", "N")), graph["m"])
    assert matches(W().has_shape(("A", "B")), graph["m"])
    assert not matches(W().has_type(tensor_type(f32, [10, 10])), graph["x"])


def test_attributes_compare_by_value() -> None:
    graph = Graph("""
      func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf64> {
        %k = graph.constant dense<1.0> : tensor<f32>
        %c = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
          : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
        %d = graph.cast %c to f64 saturate true round "nearest" : tensor<1x4x6x6xf32> -> tensor<1x4x6x6xf64>
        func.return %d : tensor<1x4x6x6xf64>
      }""")
    conv = op("conv")
    assert matches(conv.has_attr({"groups": 1, "strides": [1, 1]}), graph["c"])  # groups by default
    assert not matches(conv.has_attr({"strides": [2, 1]}), graph["c"])
    assert not matches(conv.has_attr({"missing": 1}), graph["c"])
    assert matches(op("cast").has_attr({"to": "float64", "saturate": True}), graph["d"])
    assert not matches(op("cast").has_attr({"to": "float32"}), graph["d"])
    assert matches(W().has_attr({}), graph["c"])
    assert not matches(W().has_attr({}), graph["x"])
    assert not matches(W().has_attr({}), graph["k"])


@pytest.mark.parametrize(("alpha", "expected"), [(0.01, True), (0.02, False), (1e300, False)])
def test_a_float_equals_what_f32_stores_for_it(alpha: float, expected: bool) -> None:
    graph = elementwise("z = leaky_relu x")  # alpha 0.01 : f32
    assert matches(op("leaky_relu").has_attr({"alpha": alpha}), graph["z"]) == expected


def test_one_object_is_one_node() -> None:
    one = elementwise("c = matmul x, y; r = relu c; l = tanh c; s = add r, l")
    two = elementwise("c = matmul x, y; d = matmul x, y; r = relu c; l = tanh d; s = add r, l")
    conv = op("matmul", W(), W())
    pattern = op("add", op("relu", conv), op("tanh", conv))
    assert matches(pattern, one["s"])
    assert not matches(pattern, two["s"])
    assert matches(op("add", op("relu", conv), op("tanh", conv.dup())), two["s"])


def test_a_match_names_the_node_of_each_object() -> None:
    graph = elementwise("r = relu x; s = add y, r")
    x, b = wildcard(), wildcard()
    relu = op("relu", x)
    found = match(op("add", relu, b), graph["s"])
    assert found is not None
    assert (found[x], found[relu], found[b]) == ([graph["x"]], [graph["r"]], [graph["y"]])


def test_a_failed_order_leaves_no_bindings() -> None:
    graph = elementwise("r = relu y; s = add r, x; t = add s, y")
    x = wildcard()
    # In the first order `x` is bound to %s before relu fails on %y.
    found = match(op("add", x, op("add", op("relu", x), W())), graph["t"])
    assert found is not None and found[x] == [graph["y"]]


def test_a_choice_that_succeeded_is_not_reopened() -> None:
    graph = elementwise("a = relu x; s = subtract a, x")
    x = wildcard()
    # The left arm matches %a, and then `x` differs: the right arm is not tried.
    assert not matches(op("subtract", (x | op("relu", x)), x), graph["s"])
    assert matches(op("subtract", (op("relu", x) | x), x), graph["s"])


def test_and_and_not() -> None:
    graph = elementwise("r = relu x; t = tanh r")
    assert matches(op("relu") & W().has_dtype("float32"), graph["r"])
    assert not matches(op("relu") & ~W().has_dtype("float32"), graph["r"])
    assert matches(~op("relu"), graph["t"])
    assert matches(op("tanh", W().where(lambda value: value.name_hint == "r")), graph["t"])


@pytest.mark.parametrize(("type", "expected"), [("tensor<4xf32>", True), ("tensor<4xi32>", False)])
def test_association_across_multiply_and_divide_of_floats(type: str, expected: bool) -> None:
    graph = elementwise("q = divide y, z; p = multiply x, q", "x, y, z", type)
    a, b, c = is_var("x"), is_var("y"), is_var("z")
    assert matches(op("divide", op("multiply", a, b), c), graph["p"]) == expected
    assert matches(op("divide", op("multiply", b, a), c), graph["p"]) == expected
    graph = elementwise("p = multiply x, z; q = divide p, y", "x, y, z", type)
    assert matches(op("multiply", op("divide", a, b), c), graph["q"]) == expected
    assert not matches(op("multiply", op("divide", a, c), b), graph["q"])


def test_expressions_are_compared_by_structure() -> None:
    first = elementwise("k = constant 2.0; a = multiply x, k")
    graph = elementwise("k = constant 2.0; a = multiply x, k; l = constant 3.0; b = add a, l; c = add b, k")
    assert matches(op("add", W(), is_expr(first["k"])), graph["c"])
    assert not matches(op("add", W(), is_expr(first["k"])), graph["b"])
    assert not matches(is_expr(first["a"]), graph["a"])  # another function's %x
    assert matches(is_expr(graph["a"]), graph["a"])
    assert matches(op("multiply", W(), is_constant()), graph["a"])


def test_a_definition_and_a_later_use() -> None:
    graph = elementwise("r = relu x; t = tanh r; s = add t, r; u = add t, y", returns="s, u")
    v = is_var()
    pattern = is_let(v, op("relu", W()), op("add", W(), v))
    assert matches(pattern, graph["s"])
    assert not matches(pattern, graph["u"])


def relu_chain(length: int) -> FuncOp:
    """A function of one op after the other."""
    type = tensor_type(f32, [4])
    func = FuncOp("main", ([type], [type]))
    value: SSAValue = func.body.block.args[0]
    for _ in range(length):
        func.body.block.add_op(relu := g.ReluOp.create(operands=[value], result_types=[type]))
        value = relu.result
    func.body.block.add_op(ReturnOp(value))
    return func


def test_long_chains_need_no_recursion() -> None:
    func = relu_chain(4_000)
    last = func.body.block.last_op
    assert last is not None
    rest = wildcard()
    chain = op("relu", rest)
    rest.redirect_to(chain | is_var())
    found = match(chain, last.operands[0])
    assert found is not None and len(found[chain]) == 4_000

    pattern: Pattern = is_var()
    for _ in range(4_000):
        pattern = op("relu", pattern)
    assert matches(pattern, last.operands[0])
    assert not matches(dominates(op("tanh"), op("relu"), op("relu")), last.operands[0])


@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=3), min_size=1, max_size=25))
def test_post_dominators_against_their_definition(operands: list[list[int]]) -> None:
    block = Block(arg_types=[f32])
    values: list[SSAValue] = [*block.args]
    for wanted in operands:
        made = TestOp([values[i % len(values)] for i in wanted], [f32])
        block.add_op(made)
        values += made.results
    block.add_op(TestTermOp([values[-1]]))
    ops = [o for o in block.ops if o.results]
    tree = PostDominators(block)
    for above, below in product(ops, ops):
        assert tree.post_dominates(above, below) == (above is not below and _all_ways(above, below))


def _all_ways(above: Operation, below: Operation) -> bool:
    """Whether each way from an op downward meets `above`: without it, no end is reached."""
    seen: set[Operation] = set()
    stack = [below]
    while stack:
        current = stack.pop()
        if current is above or current in seen:
            continue
        seen.add(current)
        users = [use.operation for use in current.results[0].uses]
        if not users or any(not user.results for user in users):
            return False
        stack += users
    return True


def diamond() -> Pattern:
    return dominates(op("matmul", W(), W()), is_op("trait:elementwise")(W()), op("add", W(), W()))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("c = matmul x, w; r = relu c; s = relu r; l = tanh c; o = add s, l", True),
        ("c = matmul x, w; r = relu c; s = relu r; t = tanh s; l = neg c; o = add t, l", True),
        ("c = matmul x, w; r = relu c; s = relu r; t = tanh s; o = add s, t", True),
        ("c = matmul x, w; r = relu x; s = relu r; l = tanh c; o = add s, l", False),
        ("r = relu x; s = relu r; l = tanh x; o = add s, l", False),
        ("c = matmul x, w; d = matmul x, w; r = relu c; l = tanh d; o = add r, l", False),
    ],
)
def test_dominators(body: str, expected: bool) -> None:
    assert matches(diamond(), elementwise(body, "x, w")["o"]) == expected


def test_the_child_must_post_dominate_the_parent() -> None:
    body = "c = matmul x, w; r = relu c; l = tanh c; o = add r, l"
    assert not matches(diamond(), elementwise(body, "x, w", returns="o, c")["o"])
    assert not matches(diamond(), elementwise(body, "x, w", returns="o, r")["o"])


def test_constraints_on_path_and_child() -> None:
    body = "c = matmul x, w; r = relu c; l = tanh c; o = add r, l"
    graph = elementwise(body, "x, w", "tensor<1x3x10x10xf32>")
    conv, add = op("matmul", W(), W()), op("add", W(), W())
    path = is_op("trait:elementwise")(W()).has_dtype("float32")
    assert matches(dominates(conv, path, add.has_shape((1, 3, 10, 10))), graph["o"])
    assert not matches(dominates(conv, path, add.has_shape((1, 1, 10, 10))), graph["o"])


def test_all_nodes_of_a_path_are_listed() -> None:
    graph = elementwise("c = matmul x, w; r = relu c; s = relu r; l = tanh c; o = add s, l", "x, w")
    path = is_op("trait:elementwise")(W())
    found = match(dominates(op("matmul", W(), W()), path, op("add", W(), W())), graph["o"])
    assert found is not None and found[path] == [graph[name] for name in "rsl"]


def test_ill_formed_patterns() -> None:
    with pytest.raises(StepwellError, match="dialect.op"):
        is_op("add")
    with pytest.raises(StepwellError, match="did you mean trait:elementwise"):
        match(is_op("trait:elementwize"), elementwise("r = relu x")["r"])
    with pytest.raises(StepwellError, match="has operands already"):
        match(op("relu", W())(W()), elementwise("r = relu x")["r"])
    with pytest.raises(StepwellError, match="outside of a graph"):
        _ = W() >> W()
