"""The colours of MLIR's text: the Pygments lexer and the grammar of VS Code, of one table."""

from __future__ import annotations

import json
import re
import tomllib
from importlib import import_module

import pytest
from pygments.token import Text, Token

from stepwell.tools.highlight import MlirLexer
from stepwell.tools.lsp.grammar import GRAMMAR, grammar
from tests.support.imports import ROOT


@pytest.mark.parametrize(
    ("text", "part", "kind"),
    [
        ("%y = graph.relu %x : tensor<4x?xf32>", "%x", Token.Name.Variable),
        ("%y = graph.relu %x : tensor<4x?xf32>", "graph.relu", Token.Name.Function),
        ("%y = graph.relu %x : tensor<4x?xf32>", "4x?x", Token.Literal.Number.Integer),
        ("%y = graph.relu %x : tensor<4x?xf32>", "f32", Token.Keyword.Type),
        ('"graph.relu"(%x#1) {a = 1}', '"graph.relu"', Token.Name.Function),
        ('"graph.relu"(%x#1) {a = 1}', "%x#1", Token.Name.Variable),
        ('"graph.relu"(%x#1) {a = 1}', "a", Token.Name.Attribute),
        ("// CHECK-NEXT: %x", "// CHECK-NEXT: %x", Token.Comment.Special),
        ("a // b", "// b", Token.Comment.Single),
        ("// -----", "// -----", Token.Generic.Subheading),
        ("dense<0x7F80> -1.5e-3", "0x7F80", Token.Literal.Number.Hex),
        ("dense<0x7F80> -1.5e-3", "-1.5e-3", Token.Literal.Number.Float),
        ("func.func @f", "@f", Token.Name.Class),
        ("^bb0(%a: index):", "^bb0", Token.Name.Label),
        ("#sched.schedule<tile", "#sched.schedule", Token.Name.Constant),
    ],
)
def test_tokens(text: str, part: str, kind: object) -> None:
    assert (kind, part) in list(MlirLexer().get_tokens(text))


def test_all_text_of_our_tests_is_known() -> None:
    unknown = {
        value
        for path in (ROOT / "tests" / "filecheck").rglob("*.mlir")
        if path.parent.name != "kernels"  # with sizes as `${rows}`, no MLIR yet
        for kind, value in MlirLexer().get_tokens(path.read_text(encoding="utf-8"))
        if kind is Text
    }
    assert not unknown


def test_the_entry_point_names_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, name = project["entry-points"]["pygments.lexers"]["mlir"].split(":")
    assert getattr(import_module(module), name) is MlirLexer and MlirLexer.aliases == ["mlir"]


def test_the_grammar_is_fresh() -> None:
    assert GRAMMAR.read_text(encoding="utf-8") == grammar(), "run `make docs`"


def test_the_grammar_has_expressions() -> None:
    """Each compiles, and known dialects come before other names with a dot."""
    patterns = json.loads(grammar())["patterns"]
    assert all(re.compile(pattern["match"]) for pattern in patterns)
    first = next(p["name"] for p in patterns if re.match(p["match"], "graph.relu "))
    assert first == "support.function.mlir"
    assert (
        next(p["name"] for p in patterns if re.match(p["match"], "mine.op ")) == "entity.name.function.mlir"
    )
