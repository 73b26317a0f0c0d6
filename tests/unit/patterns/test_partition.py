"""From matches to composites: parameters, names, what escapes, what is refused."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from stepwell.dialects import graph as g
from stepwell.dialects.verify import verify_module
from stepwell.patterns import Pattern, dominates, is_constant, is_op, partition, wildcard
from tests.patterns import Graph, elementwise

W = wildcard


def op(name: str, *args: Pattern) -> Pattern:
    return is_op(f"graph.{name}")(*args)


def composites(graph: Graph) -> list[g.CompositeOp]:
    """The composites of a graph, which must hold together."""
    verify_module(graph.module)
    return [op for op in graph.func.walk() if isinstance(op, g.CompositeOp)]


def names(values: Iterable[SSAValue]) -> list[str | None]:
    return [value.name_hint for value in values]


def ops_of(composite: g.CompositeOp) -> str:
    attribute = composite.attributes["ops"]
    assert isinstance(attribute, StringAttr)
    return attribute.data


CONV = "strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>)"
IMAGE = "tensor<1x4x8x8xf32>"


def conv_net(body: str) -> Graph:
    """A function of `c = conv x w; d = bias_add c b; r = relu d`, all of one shape, returning the last."""
    lines: list[str] = []
    last = ""
    for statement in body.split(";"):
        last, _, kind, *operands = statement.split()
        values = ", ".join(f"%{name}" for name in operands)
        types = {
            "conv": f"{CONV} -> {IMAGE}",
            "bias_add": f"axis 1 : ({IMAGE}, tensor<4xf32>) -> {IMAGE}",
            "add": f": ({IMAGE}, {IMAGE}) -> {IMAGE}",
        }.get(kind, f": {IMAGE} -> {IMAGE}")
        lines.append(f"%{last} = graph.{kind} {values} {types}")
    weights = ", ".join(f"%{name}: tensor<4x4x1x1xf32>" for name in ("w", "w2"))
    biases = ", ".join(f"%{name}: tensor<4xf32>" for name in ("b", "b2"))
    return Graph(
        f"func.func @main(%x: {IMAGE}, {weights}, {biases}) -> {IMAGE} {{\n"
        + "\n".join(lines)
        + f"\nfunc.return %{last} : {IMAGE}\n}}"
    )


def test_a_table_takes_the_longer_pattern_first() -> None:
    graph = conv_net("c = conv x w; d = bias_add c b; r = relu d; e = conv r w2; f = bias_add e b2")
    conv_bias = op("bias_add", op("conv", W(), W()), W())
    conv_bias_relu = op("relu", op("bias_add", op("conv", W(), W()), W()))
    partition(conv_bias_relu, graph.func, name="acme.conv_bias_relu")
    partition(conv_bias, graph.func)
    first, second = composites(graph)
    assert names(first.operands) == ["x", "w", "b"] and ops_of(first) == "conv_bias_add_relu_"
    assert first.attributes["pattern"] == StringAttr("acme.conv_bias_relu")
    assert tuple(second.operands) == (first.results[0], graph["w2"], graph["b2"])
    assert ops_of(second) == "conv_bias_add_" and "pattern" not in second.attributes
    assert graph.ops() == ["composite", "composite", "return"]


@pytest.mark.parametrize(
    "pattern",
    [
        op("relu", op("conv", W(), W()).optional(lambda p: op("bias_add", p, W()))),
        op("bias_add", op("conv", W(), W()), W()).optional(lambda p: op("relu", p)),
    ],
)
def test_both_spellings_of_an_optional_part(pattern: Pattern) -> None:
    graph = conv_net("c = conv x w; d = bias_add c b; r = relu d")
    partition(pattern, graph.func)
    (composite,) = composites(graph)
    assert names(composite.operands) == ["x", "w", "b"] and ops_of(composite) == "conv_bias_add_relu_"


def test_parameters_stand_in_the_order_of_the_pattern() -> None:
    graph = elementwise(
        "e = constant 1.0; d = subtract x, mu; n = multiply gamma, d; v = add var, e; s = sqrt v;"
        "q = divide n, s; o = add q, beta",
        "var, mu, x, beta, gamma",
    )
    normalized = op("multiply", W(), op("subtract", W(), W()))
    deviation = op("sqrt", op("add", W(), is_constant()))
    partition(op("add", op("divide", normalized, deviation), W()), graph.func)
    (composite,) = composites(graph)
    assert names(composite.operands) == ["gamma", "x", "mu", "var", "beta"]
    assert "graph.constant" in {op.name for op in composite.body.block.ops}
    assert graph.ops() == ["composite", "return"]


def test_a_wildcard_lifts_a_constant() -> None:
    graph = elementwise("e = constant 1.0; r = relu x; o = add r, e")
    partition(op("add", op("relu", W()), W()), graph.func)
    (composite,) = composites(graph)
    assert names(composite.operands) == ["x", "e"]


def test_the_arm_that_matched_decides_about_a_constant() -> None:
    for arms, count in ((is_constant() | W(), 1), (W() | is_constant(), 2)):
        graph = elementwise("e = constant 1.0; r = relu x; o = add r, e")
        partition(op("add", op("relu", W()), arms), graph.func)
        assert len(composites(graph)[0].operands) == count


def test_an_escaping_value_forbids_the_match() -> None:
    graph = elementwise("c = matmul x, w; r = relu c; o = add r, c", "x, w")
    heard: list[str] = []
    partition(op("relu", op("matmul", W(), W())), graph.func, remark=lambda _, text: heard.append(text))
    assert not composites(graph)
    assert heard == ["not grouped at graph.relu: graph.matmul is used by graph.add as well"]


def test_a_value_whose_users_meet_at_the_root_is_computed_twice_when_that_is_cheap() -> None:
    pattern = op("add", op("tanh", op("relu", W())), W())
    graph = elementwise("r = relu x; t = tanh r; n = neg r; o = add t, n")
    partition(pattern, graph.func)
    (composite,) = composites(graph)
    assert names(composite.operands) == ["x", "n"]
    assert graph.ops() == ["relu", "neg", "composite", "return"]

    pattern = op("add", op("tanh", op("matmul", W(), W())), W())
    body = "r = matmul x, y; t = tanh r; n = neg r; o = add t, n"
    graph = elementwise(body)
    partition(pattern, graph.func)
    assert not composites(graph)
    partition(pattern, graph.func, allow_duplicate=True)
    assert names(composites(graph)[0].operands) == ["x", "y", "n"]


def test_a_dominated_diamond_becomes_one_composite() -> None:
    graph = elementwise(
        "a = multiply i, i; b = multiply w, w; c = matmul a, b; r = relu c; s = relu r; l = tanh c;"
        "o = add s, l",
        "i, w",
    )
    pattern = dominates(op("matmul", W(), W()), is_op("trait:elementwise")(W()), op("add", W(), W()))
    partition(pattern, graph.func)
    (composite,) = composites(graph)
    assert tuple(composite.operands) == (graph["a"], graph["b"])
    assert ops_of(composite) == "matmul_relu_relu_tanh_add_"
    assert graph.ops() == ["multiply", "multiply", "composite", "return"]


def test_a_check_may_refuse() -> None:
    def layout_is(layout: str, value: SSAValue) -> bool:
        conv = value.owner
        assert isinstance(conv, g.ConvOp)
        return conv.data_layout.data == layout

    pattern = op("conv", W(), W())
    graph = conv_net("c = conv x w")
    partition(pattern, graph.func, check=lambda value: layout_is("NHWC", value))
    assert not composites(graph)
    partition(pattern, graph.func, check=lambda value: layout_is("NCHW", value))
    assert len(composites(graph)) == 1


def test_equal_matches_stay_apart() -> None:
    graph = elementwise("a = relu x; b = relu x; o = add a, b")
    partition(op("relu", W()), graph.func, {"target": StringAttr("acme")})
    assert [c.attributes["target"] for c in composites(graph)] == [StringAttr("acme")] * 2


def test_what_is_inside_a_kernel_stays() -> None:
    type = "tensor<4xf32>"
    graph = Graph(f"""
      func.func @main(%x: {type}) -> {type} {{
        %f = graph.fused (%a = %x : {type}) -> ({type}) {{
          %r = graph.relu %a : {type} -> {type}
          graph.yield %r : {type}
        }}
        func.return %f : {type}
      }}""")
    assert not partition(op("relu", W()), graph.func)


def test_a_match_across_blocks_is_rejected() -> None:
    graph = Graph("""
      func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
        %r = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
        %f = scf.if %c -> (tensor<4xf32>) {
          %t = graph.tanh %r : tensor<4xf32> -> tensor<4xf32>
          scf.yield %t : tensor<4xf32>
        } else {
          scf.yield %x : tensor<4xf32>
        }
        func.return %f : tensor<4xf32>
      }""")
    assert not partition(op("tanh", op("relu", W())), graph.func)
    assert partition(op("tanh", W()), graph.func)
    verify_module(graph.module)


def test_works_on_any_dialect() -> None:
    graph = Graph("""
      func.func @main(%x: f32, %y: f32) -> f32 {
        %a = arith.mulf %x, %y : f32
        %b = arith.addf %a, %y : f32
        func.return %b : f32
      }""")
    a, b = W(), W()
    multiply = is_op("arith.mulf")(a, b)
    partition(is_op("arith.addf")(multiply, W()), graph.func)
    assert ops_of(composites(graph)[0]) == "mulf_addf_"


def test_embedded_constants_are_in_the_order_of_the_pattern() -> None:
    """Not in one that addresses of objects decide: backends find constants by their numbers."""
    count = 9
    type = "tensor<4xf32>"
    constants = [f"%c{n} = graph.constant dense<{n}.0> : {type}" for n in reversed(range(count))]
    sums = [
        f"%s{n} = graph.add %{f's{n - 1}' if n else 'x'}, %c{n} : ({type}, {type}) -> {type}"
        for n in range(count)
    ]
    body = "\n".join([*constants, *sums])
    graph = Graph(f"func.func @main(%x: {type}) -> {type} {{\n{body}\nfunc.return %s{count - 1} : {type}\n}}")
    pattern: Pattern = W()
    for _ in range(count):
        pattern = op("add", pattern, is_constant())
    partition(pattern, graph.func)
    (composite,) = composites(graph)
    found = [o for o in composite.body.block.ops if isinstance(o, g.ConstantOp)]
    assert names(o.result for o in found) == [f"c{n}" for n in range(count)]
