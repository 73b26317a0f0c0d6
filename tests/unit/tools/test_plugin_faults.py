"""Plugins that misbehave: one error each that names the plugin's file, and what of it is at fault."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes import Pass
from stepwell.passes.registry import register_pass
from stepwell.runtime.plugins import LOADED
from stepwell.tools import cli, opt
from stepwell.tools.driver.kept_models import kept_model
from stepwell.tools.driver.options import CompileOptions
from tests.commands import Capture, shown_error, written
from tests.onnx_models import onnx_model

ROOT = Path(__file__).parents[3]
GRAPH = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.relu %x : tensor<2xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""
IMPORTS = """import sys
from xdsl.pattern_rewriter import *
from xdsl.pattern_rewriter import op_type_rewrite_pattern
from xdsl.utils.exceptions import PassFailedException
from stepwell.dialects import graph
from stepwell.patterns.driver.conversion import convert
from stepwell.passes import Pass
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.patterns import Rule, is_op, register_callback, register_predicate, rewrite
"""


def loading(capsys: Capture, folder: Path, stem: str, code: str, *arguments: str) -> str:
    """The error of `stepwell-opt` with a plugin."""
    model = written(folder / "m.mlir", GRAPH)
    plugin = written(folder / f"{stem}.py", IMPORTS + code)
    return shown_error(capsys, opt.main, model, "--load", plugin, *arguments)


NAMED = 'class A(Pass):\n    name = "{}"\n    def apply(self, ctx, op): pass\n'

REFUSED = {
    "no_name": (NAMED.replace("name =", "nam ="), "bad-plugin", "class A has no `name`", ":10"),
    "taken": (NAMED.format("cse"), "name-taken", "there is a pass named 'cse' already", ":10"),
    "twice": (
        NAMED.format("twice") + NAMED.replace("A", "B").format("twice"),
        "name-taken",
        "there is a pass named 'twice' already",
        ":13",
    ),
    "predicates": (
        'register_predicate("twice.any")(len)\nregister_predicate("twice.any")(max)',
        "name-taken",
        "there is a function named 'twice.any' already",
        ":11",
    ),
    "raising": ("def f():\n    [][1]\nf()", "bad-plugin", "IndexError: list index out of range", ":11"),
    "leaving": ("sys.exit(3)", "bad-plugin", "SystemExit: 3", ":10"),
    "unreadable": ("def f(:", "bad-plugin", "SyntaxError: ", ":10"),
    "json": (NAMED.format("json-pass"), "bad-plugin", "another module is named json already", ""),
}


@pytest.mark.parametrize("stem", REFUSED)
def test_a_plugin_that_cannot_be_loaded(stem: str, tmp_path: Path, capsys: Capture) -> None:
    code, error, message, line = REFUSED[stem]
    printed = loading(capsys, tmp_path, stem, code)
    assert printed.startswith(f"error[{error}]: ") and message in printed
    assert f"--> {tmp_path}/{stem}.py{line}\n" in f"{printed}\n"


PASS = 'class A(Pass):\n    name = "{}"\n    def apply(self, ctx, op):\n        '

FAILING = {
    "fails": (PASS + "[][1]", "plugin-failed", "IndexError: list index out of range"),
    "refuses": (PASS + 'raise PassFailedException("not on Sundays")', "pass-failed", "not on Sundays"),
    "erases": (
        PASS + "(block := op.body.block.first_op.body.block).erase_op(block.last_op)",
        "invalid-ir",
        "graph.relu",
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_pass_that_fails(
    name: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "my cache"))
    code, error, message = FAILING[name]
    printed = loading(capsys, tmp_path, f"{name}_pass", code.format(name), "-p", f"cse,{name}")
    assert printed.startswith(f"error[{error}]: ") and message in printed
    assert f"in pass {name} of the plugin {tmp_path}/{name}_pass.py" in printed
    if error == "plugin-failed":
        command = printed.partition("reproduce it with: stepwell-opt ")[2].partition("\n")[0]
        assert shown_error(capsys, opt.main, *shlex.split(command)).startswith(f"error[{error}]: ")


PATTERN = """class Like(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReluOp, rewriter: PatternRewriter, /) -> None:
        rewriter.replace(op, graph.ReluOp(op.input))
"""
TURNS = PATTERN.replace("ReluOp(", "NegOp(") + PATTERN.replace("Like", "Back").replace(
    "graph.ReluOp,", "graph.NegOp,"
)
CALLBACK = """@register_callback("callback.like")
def like(pre, post, nodes, rewriter):
    return rewriter.insert(graph.ReluOp(pre.owner.operands[0])).result
"""

ENDLESS = {
    "walker": (
        PATTERN + PASS + "PatternRewriteWalker(Like()).rewrite_module(op)",
        "Like works on what it makes",
    ),
    "greedy": (PATTERN + PASS + "apply_patterns(op.body, [Like()])", "Like works on what it makes"),
    "conversion": (
        PATTERN + PASS + 'convert(op, [Like()], ["graph"], convert_new_ops=True)',
        "Like works on what it makes",
    ),
    "turns": (
        TURNS
        + PASS
        + "PatternRewriteWalker(GreedyRewritePatternApplier([Like(), Back()])).rewrite_module(op)",
        "work on what the other makes",
    ),
    "dataflow": (
        CALLBACK + PASS + 'rewrite([Rule(is_op("graph.relu")(None), like)], op.body.block.first_op)',
        "like works on what it makes",
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ENDLESS)
def test_a_pattern_without_end(name: str, tmp_path: Path, capsys: Capture) -> None:
    code, message = ENDLESS[name]
    printed = loading(capsys, tmp_path, f"{name}_pattern", code.format(name), "-p", name)
    assert printed.startswith("error[endless-rules]: rewriting does not end: ") and message in printed
    assert f"of the plugin {tmp_path}/{name}_pattern.py" in printed and "please report" not in printed


def test_a_pattern_of_a_module_that_a_plugin_imports(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    written(tmp_path / "helping_patterns.py", IMPORTS + PATTERN)
    code = "from helping_patterns import Like\n" + PASS.format("helped")
    code += "PatternRewriteWalker(Like()).rewrite_module(op)"
    printed = loading(capsys, tmp_path, "helped_pass", code, "-p", "helped")
    assert "does not end: Like works on what it makes" in printed
    assert f"in pass helped of the plugin {tmp_path}/helped_pass.py" in printed


def test_installed_passes_that_fail(tmp_path: Path) -> None:
    """One that raises, one that is not there."""
    written(tmp_path / "acme.py", IMPORTS + PASS.format("acme-raising") + "[][1]")
    (about := tmp_path / "acme-0.1.dist-info").mkdir()
    written(about / "METADATA", "Metadata-Version: 2.1\nName: acme\nVersion: 0.1\n")
    written(about / "entry_points.txt", "[stepwell.passes]\nacme-raising = acme:A\nacme-missing = acme:B\n")
    written(tmp_path / "m.mlir", GRAPH)
    code = "from stepwell.tools.opt import main; "
    code += "[main(['m.mlir', '-p', f'acme-{name}']) for name in ('raising', 'missing')]"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "error[plugin-failed]: IndexError: list index out of range" in done.stderr
    assert f"in pass acme-raising of the plugin {tmp_path}/acme.py" in done.stderr
    assert "error[bad-plugin]: AttributeError: " in done.stderr and "--> acme:B" in done.stderr
    assert "Traceback" not in done.stderr and "please report" not in done.stderr


def test_a_conversion_that_leaves_what_it_converts(tmp_path: Path, capsys: Capture) -> None:
    code = PATTERN + PASS.format("leave") + 'convert(op, [Like()], ["graph"])'
    printed = loading(capsys, tmp_path, "leaving_pass", code, "-p", "leave")
    assert printed.startswith("error[unsupported-op]: no conversion for graph.relu")
    assert "help: add a pattern for each to " in printed and "export" not in printed
    assert f"in pass leave of the plugin {tmp_path}/leaving_pass.py" in printed


def test_a_long_way_has_an_end(tmp_path: Path, capsys: Capture) -> None:
    """A pattern that takes one of 3,000 numbers away at a time, as that of docs/write-a-dialect.md."""
    pattern = PATTERN.replace(
        "rewriter.replace(op, graph.ReluOp(op.input))", 'n = op.attributes.get("n", IntAttr(3000))\n'
    )
    pattern += "        if n.data:\n            new = graph.ReluOp(op.input)\n"
    pattern += '            new.attributes["n"] = IntAttr(n.data - 1)\n'
    pattern += "            rewriter.replace(op, new)\n"
    code = "from xdsl.dialects.builtin import IntAttr\n" + pattern + PASS.format("long-way")
    plugin = written(
        tmp_path / "long_way.py", IMPORTS + code + "PatternRewriteWalker(Like()).rewrite_module(op)"
    )
    assert opt.main([str(written(tmp_path / "m.mlir", GRAPH)), "--load", str(plugin), "-p", "long-way"]) == 0
    assert "n = #builtin.int<0>" in capsys.readouterr().out


def test_a_pass_of_a_plugin_in_a_compilation(tmp_path: Path, capsys: Capture) -> None:
    """It runs on the graph as simplified, where the command line requires it; otherwise not."""
    code = PATTERN.replace("graph.ReluOp(op.input)", "graph.NegOp(op.input)") + PASS.format("negate")
    plugin = written(tmp_path / "negating.py", f"{IMPORTS}{code}apply_patterns(op.body, [Like()])")
    model = written(tmp_path / "m.onnx", onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
    run = ["run", str(model), "--fill", "ones", "--load", str(plugin)]
    required = ["--require-pass", "negate"]
    cases = (([], "1"), (required, "-1"), ([*required, "--pass-limit", "3"], "1"), ([], "1"))
    for options, value in cases:
        assert cli.main([*run, *options]) == 0
        assert f"mean {value} " in capsys.readouterr().out
    assert cli.main([*run, "--require-pass", "negate", "--disable-pass", "negate"]) == 0
    assert "mean 1 " in capsys.readouterr().out
    assert cli.main(["compile", *run[1:2], *run[4:], "--require-pass=negate", "--print-pipeline"]) == 0
    assert ",negate,convert-plugins-to-graph,simplify-expr," in capsys.readouterr().out
    LOADED.clear()
    error = shown_error(capsys, cli.main, "compile", model, "--require-pass", "vectorize")
    assert "level 1 runs " in error and "a pass of a plugin" in error


def test_a_pass_that_nobody_loaded_is_in_no_key(tmp_path: Path) -> None:
    """Its content is unknown, so a model with it is not kept."""

    class ByHandPass(Pass):
        name = "test-by-hand"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            pass

    register_pass(ByHandPass)
    model = written(tmp_path / "m.onnx", onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
    assert kept_model(model, CompileOptions()) is not None
    assert kept_model(model, CompileOptions(required_passes=("test-by-hand",))) is None
