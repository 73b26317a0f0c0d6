"""Patterns as text: read, written, and the same again; rules and tables; what is ill-formed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.passes import run_pipeline
from stepwell.passes.instruments import module_text
from stepwell.patterns import (
    FunctionPattern,
    Pattern,
    PatternFile,
    dominates,
    from_text,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    nodes,
    register_callback,
    register_predicate,
    rewrite,
    to_text,
    wildcard,
)
from stepwell.patterns.files import PatternWarning
from stepwell.patterns.nodes import inner_patterns
from stepwell.runtime.errors import StepwellError
from tests.patterns import elementwise
from tests.support.samples import examples


def read(text: str) -> PatternFile:
    ctx = StepwellContext(allow_unregistered=True)
    module = parse_module(ctx, text)
    verify_module(module)
    return from_text(module, ctx)


@register_predicate("test_named_r")
def named_r(value: SSAValue) -> bool:
    return value.name_hint == "r"


IGNORED = {"label", "program", "in_use", "other_associations", "predicate", "target", "value"}


def isomorphic(first: Pattern, second: Pattern) -> bool:
    """Whether two patterns have equal objects in equal places, one for one."""
    pairs = {first: second}
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        parts = inner_patterns(a), inner_patterns(b)
        if type(a) is not type(b) or _content(a) != _content(b) or len(parts[0]) != len(parts[1]):
            return False
        for x, y in zip(*parts, strict=True):
            if x not in pairs:
                pairs[x] = y
                stack.append((x, y))
            elif pairs[x] is not y:
                return False
    return len(set(pairs.values())) == len(pairs)


def _content(pattern: Pattern) -> dict[str, object]:
    plain = {name: value for name, value in vars(pattern).items() if name not in IGNORED}
    return {
        name: len(value) if isinstance(value, tuple) and name != "shape" else value
        for name, value in plain.items()
        if not isinstance(value, Pattern)
    }


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """A pattern of up to twelve objects, any of which may be used several times."""
    made: list[Pattern] = [wildcard(), is_constant(), is_var(), is_var("x"), is_op("graph.relu")]

    def one() -> Pattern:
        return draw(st.sampled_from(made))

    def several() -> list[Pattern]:
        return draw(st.lists(st.sampled_from(made), max_size=3))

    kinds = {
        "wildcard": wildcard,
        "any call": lambda: is_op("graph.add")(None),
        "call": lambda: is_op("graph.add")(*several()),
        "op": lambda: is_op("trait:elementwise"),
        "called": lambda: one()(*several()),
        "tuple": lambda: is_tuple(several()),
        "any tuple": lambda: is_tuple(None),
        "get": lambda: is_tuple_get_item(one(), draw(st.sampled_from([None, 0, 2]))),
        "if": lambda: is_if(one(), one(), one()),
        "let": lambda: is_let(one(), one(), one()),
        "function": lambda: FunctionPattern(several(), one()),
        "any function": lambda: FunctionPattern(None, one()),
        "or": lambda: one() | one(),
        "and": lambda: one() & one(),
        "not": lambda: ~one(),
        "attr": lambda: one().has_attr({"axis": 1, "kind": "sum", "pads": [0, 1], "on": True}),
        "no attr": lambda: one().has_attr({}),
        "op attr": lambda: is_op("graph.conv")(one()).has_attr({"groups": 1}),
        "type": lambda: one().has_type(tensor_type(f32, ["N", 4])),
        "dtype": lambda: one().has_dtype("float32"),
        "shape": lambda: one().has_shape((1, None, "N")),
        "where": lambda: one().where(named_r, "test_named_r"),
        "optional": lambda: one().optional(lambda p: is_op("graph.tanh")(p, one())),
        "dominates": lambda: dominates(one(), one(), one()),
    }
    for _ in range(draw(st.integers(1, 8))):
        made.append(kinds[draw(st.sampled_from(sorted(kinds)))]())
    return made[-1]


def compiles(pattern: Pattern) -> bool:
    """Whether a pattern is well-formed: what is called has no operands."""
    try:
        match(pattern, elementwise("r = relu x")["r"])
    except StepwellError:
        return False
    return True


@examples(150)
@given(patterns())
def test_text_and_objects_are_isomorphic(pattern: Pattern) -> None:
    if not compiles(pattern):
        return
    text = to_text(pattern)
    again = read(text).patterns["pattern"]
    assert isomorphic(pattern, again), text
    assert to_text(again, "pattern") == to_text(read(to_text(again)).patterns["pattern"], "pattern")


def test_a_recursive_pattern_keeps_its_shape() -> None:
    rest, shared = wildcard(), wildcard()
    chain = is_op("graph.add")(rest, shared)
    rest.redirect_to(chain | is_var("x"))
    root = is_op("graph.relu")(is_op("graph.multiply")(chain, shared))
    file = read(to_text(root, "root"))
    assert isomorphic(root, file.patterns["root"])


def test_an_expression_is_written_with_its_ops() -> None:
    graph = elementwise("k = constant 2.0; l = constant 3.0; a = add k, l")
    pattern = is_op("graph.multiply")(wildcard(), is_expr(graph["a"]))
    again = read(to_text(pattern)).patterns["pattern"]
    body = "k = constant 2.0; l = constant 3.0; a = add k, l; m = multiply x, a; n = multiply x, l"
    other = elementwise(body)
    assert match(again, other["m"]) is not None
    assert match(again, other["n"]) is None
    with pytest.raises(StepwellError, match="reads a block argument"):
        to_text(is_expr(graph["x"]))


CONV_BIAS_RELU = """
pattern.def @conv_bias_relu {
  %x = pattern.any
  %w = pattern.any
  %b = pattern.constant
  %conv = pattern.op "graph.conv"(%x, %w) {groups = 1 : i64}
  %act = pattern.optional %conv {
  ^bb0(%c: !pattern.node):
    %bias = pattern.op "graph.bias_add"(%c, %b)
    pattern.yield %bias
  }
  %root = pattern.op "graph.relu"(%act)
  pattern.yield %root
}
"""


def test_the_two_spellings_are_one() -> None:
    x, w, b = wildcard(), wildcard(), is_constant()
    conv = is_op("graph.conv")(x, w).has_attr({"groups": 1})
    act = conv.optional(lambda c: is_op("graph.bias_add")(c, b))
    pattern = is_op("graph.relu")(act)
    file = read(CONV_BIAS_RELU)
    assert isomorphic(pattern, file.patterns["conv_bias_relu"])
    written = to_text(file.patterns["conv_bias_relu"], "conv_bias_relu")
    assert '%conv = pattern.op "graph.conv"(%x, %w) {groups = 1 : i64}' in written
    assert "%act = pattern.optional %conv {" in written


def test_tables_name_their_entries() -> None:
    file = read(CONV_BIAS_RELU + "pattern.table @acme [@conv_bias_relu check @test_named_r]")
    (entry,) = file.tables["acme"]
    assert entry.name == "acme.conv_bias_relu" and entry.check is named_r
    assert entry.pattern is file.patterns["conv_bias_relu"]


def test_rules_replace_and_make() -> None:
    file = read("""
      pattern.rule @drop_double_neg {
        %x = pattern.any
        %inner = pattern.op "graph.neg"(%x)
        %root = pattern.op "graph.neg"(%inner)
        pattern.replace %root, %x
      }
      pattern.rule @leaky {
        %x = pattern.any
        %c = pattern.op "graph.leaky_relu"(%x)
        %exp = pattern.op "graph.exp"(%c)
        %e = pattern.make "graph.elu"(%x) {alpha = #pattern.from<%c, "alpha">}
        pattern.replace %exp, %e
      }""")
    graph = elementwise("a = neg x; b = neg a; c = leaky_relu b; d = exp c")
    rewrite(list(file.rules.values()), graph.func)
    verify_module(graph.module)
    assert graph.ops() == ["elu", "return"]


def test_a_rule_may_make_ops_of_a_dialect_to_come() -> None:
    file = read("""
      pattern.rule @to_acme {
        %x = pattern.any
        %relu = pattern.op "graph.relu"(%x)
        %new = pattern.make "acme.relu"(%x) {fast} -> type_of(%relu)
        pattern.replace %relu, %new
      }""")
    graph = elementwise("a = relu x")
    rewrite(list(file.rules.values()), graph.func)
    assert '"acme.relu"(%x) {fast}' in module_text(graph.module)


@register_callback("test_keep")
def keep(pre: SSAValue, post: SSAValue, nodes: object, rewriter: object) -> SSAValue:
    return post


def test_a_rule_may_call_back() -> None:
    file = read("""
      pattern.rule @kept {
        %root = pattern.op "graph.relu"(...)
        pattern.replace %root by @test_keep
      }""")
    assert file.rules["kept"].callback is keep


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pattern.table @t [@conv]", "no pattern is named @conv"),
        (CONV_BIAS_RELU + "pattern.table @t [@conv_bias]", "did you mean @conv_bias_relu"),
        (CONV_BIAS_RELU + "pattern.table @t [@conv_bias_relu check @test_namd_r]", "mean @test_named_r"),
        ("pattern.def @p {\n %x = pattern.ref @q\n pattern.yield %x\n}", "no pattern is named @q"),
        ("pattern.def @p {\n %x = pattern.ref @p\n pattern.yield %x\n}", "must go through an op"),
        ("pattern.def @p {\n %x = pattern.use @p\n pattern.yield %x\n}", "part of itself"),
        ("pattern.def @p {\n pattern.yield\n}", "a pattern yields one object, its root; found 0"),
        ("pattern.def @p {\n %x = pattern.any\n pattern.yield %y\n}", "used before being defined|%y"),
        (
            "pattern.def @p {\n %x = pattern.any\n %y = pattern.dominates %x, %x\n pattern.yield %y\n}",
            "three objects, found 2",
        ),
        ('pattern.def @p {\n %x = pattern.op "relu"\n pattern.yield %x\n}', "dialect.op"),
        ("pattern.def @p {\n %x = pattern.any\n}", "must be pattern.yield|not a terminator"),
        ("pattern.rule @p {\n %x = pattern.any\n pattern.replace %x\n}", "by a node or by a callback"),
        (
            "pattern.rule @p {\n %x = pattern.any\n pattern.replace %x by @nobody\n}",
            "no callback is named @nobody",
        ),
        (
            'pattern.rule @p {\n %x = pattern.op "graph.relu"\n %n = pattern.make "acme.r"(%x)\n'
            " pattern.replace %x, %n\n}",
            "needs a type",
        ),
    ],
)
def test_ill_formed_text(text: str, message: str) -> None:
    with pytest.raises(StepwellError, match=message):
        read(text)


def test_an_op_that_nobody_knows_is_a_warning() -> None:
    file = read('pattern.def @p {\n %x = pattern.op "graph.rellu"(...)\n pattern.yield %x\n}')
    ((_, warning),) = file.warnings
    assert warning == "no dialect has an op graph.rellu: did you mean graph.relu?"


def test_a_file_with_such_an_op_warns(tmp_path: Path) -> None:
    file = tmp_path / "p.mlir"
    file.write_text('pattern.def @p {\n %x = pattern.op "graph.rellu"(...)\n pattern.yield %x\n}')
    ctx = StepwellContext()
    module = parse_module(ctx, "func.func @f() {\n  func.return\n}")
    with pytest.warns(PatternWarning, match="did you mean graph.relu"):
        run_pipeline(module, f'match-patterns{{file="{file}"}}', ctx)


def test_a_predicate_without_a_name_has_no_text() -> None:
    with pytest.raises(StepwellError, match="predicate without a name"):
        to_text(wildcard().where(lambda value: True))
    assert isinstance(nodes.Where(wildcard(), named_r), Pattern)
