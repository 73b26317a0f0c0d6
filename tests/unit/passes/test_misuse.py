"""What the tools say of passes on the wrong level, of plugins that fail, and of names that nothing has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepwell.runtime.plugins import load_options
from stepwell.tools import cli, opt

Capture = pytest.CaptureFixture[str]

GRAPH = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = graph.relu %x : tensor<2xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""
ONNX = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = "onnx.Relu"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


def stderr_of(capsys: Capture, file: Path, *arguments: str) -> str:
    opt.main([str(file), *arguments])
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "pipeline", "message"),
    [
        (
            ONNX,
            "simplify-expr",
            "simplify-expr works on level 1 (graph), and the program is on level 0 (model)",
        ),
        (ONNX, "fuse-ops", ": run convert-onnx-to-graph first"),
        (GRAPH, "vectorize", ": run fuse-ops,convert-graph-to-linalg first"),
        (GRAPH, "convert-graph-to-linalg,vectorize", ": run fuse-ops,convert-graph-to-linalg first"),
        (GRAPH, "convert-onnx-to-graph", "works on level 0 (model), and the program is on level 1 (graph)\n"),
        (GRAPH, "fuse-ops,convert-graph-to-linalg,fuse-ops", "fuse-ops works on level 1 (graph), and"),
    ],
)
def test_a_pass_on_the_wrong_level_warns(
    text: str, pipeline: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    (file := tmp_path / "m.mlir").write_text(text)
    printed = stderr_of(capsys, file, "-p", pipeline)
    assert printed.count("warning: ") == 1 and message in printed


@pytest.mark.parametrize(
    "pipeline", ["simplify-expr,fuse-ops,convert-graph-to-linalg,vectorize", "inline", "cse"]
)
def test_a_pass_on_its_level_does_not(pipeline: str, tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "m.mlir").write_text(GRAPH)
    assert stderr_of(capsys, file, "-p", pipeline) == ""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pass that fails by a mistake of its own, or by handing us what we cannot work with."""
    file = tmp_path / "failing_plugin.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from xdsl.passes import ModulePass\n\n\n"
        "@dataclass(frozen=True)\n"
        "class FailingPass(ModulePass):\n"
        '    name = "failing-pass"\n\n'
        "    def apply(self, ctx, op):\n"
        "        [][1]\n"
    )
    return file


def test_a_failing_plugin_is_named_by_its_line(plugin: Path, tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "m.mlir").write_text(GRAPH)
    printed = stderr_of(capsys, file, "--load", str(plugin), "-p", "failing-pass")
    assert "error[plugin-failed]: IndexError: list index out of range" in printed
    assert f"raised at {plugin}:10, in apply" in printed and "in pass failing-pass" in printed
    assert "bug in Stepwell" not in printed
    assert load_options() == f" --load {plugin}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("graph.relu", "graph.rellu", "no dialect has an op graph.rellu: did you mean graph.relu?"),
        ("graph.relu", "grap.relu", "no dialect has an op grap.relu: did you mean graph.relu?"),
        ("graph.relu", "zzz.yyy", "no dialect has an op zzz.yyy\n"),
        ("relu %x", "relu %xx", "m.mlir:2:19"),
        ("f32> {", "f32> attributes {a = #graph.weigth<1>} {", "did you mean graph.weight?"),
    ],
)
def test_the_nearest_name(old: str, new: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "m.mlir").write_text(GRAPH.replace(old, new))
    assert message in stderr_of(capsys, file)


def test_wrong_usage_is_an_error_like_any_other(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        opt.main(["--lod", "x"])
    assert stop.value.code == 2
    printed = capsys.readouterr().err
    assert (
        printed.startswith("error[bad-usage]: unrecognized arguments: --lod")
        and "`stepwell-opt --help`" in printed
    )


@pytest.mark.parametrize(
    ("command", "arguments", "near"),
    [
        (cli.main, ["complie", "m.onnx"], "compile"),
        (cli.main, ["compile", "m.onnx", "--emti", "graph"], "--emit"),
        (cli.main, ["compile", "m.onnx", "--emti=graph"], "--emit"),
        (cli.main, ["compile", "m.onnx", "--emit", "grahp"], "graph"),
        (cli.main, ["--verison"], "--version"),
        (cli.main, ["cache", "inof"], "info"),
        (opt.main, ["--print-ir-atfer-all"], "--print-ir-after-all"),
    ],
)
def test_the_nearest_option(
    command: Callable[[list[str]], int], arguments: list[str], near: str, capsys: Capture
) -> None:
    with pytest.raises(SystemExit) as stop:
        command(arguments)
    assert stop.value.code == 2
    assert f"= help: did you mean {near}? `stepwell" in capsys.readouterr().err


def test_an_option_that_is_like_none(capsys: Capture) -> None:
    """It is said of the command that it follows."""
    with pytest.raises(SystemExit):
        cli.main(["inspect", "m.onnx", "--quux", "2"])
    printed = capsys.readouterr().err
    assert "--> stepwell inspect\n  = help: `stepwell inspect --help` lists" in printed


def test_a_symbol_that_is_taken_twice(tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "m.mlir").write_text(f"{GRAPH}\n{GRAPH}")
    printed = stderr_of(capsys, file)
    assert 'func.func: Redefinition of symbol "main"' in printed and "m.mlir:6:1" in printed
