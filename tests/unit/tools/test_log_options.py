"""`--log` and `STEPWELL_LOG`: what a compilation reports, from all its processes, and what they change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli, opt
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

_NET = """g (float[N, 4] x, float[N, 4] u) => (float[N, 4] y, float[N] z) {
    a = Transpose <perm = [1, 0]> (x)
    b = Transpose <perm = [1, 0]> (a)
    y = Softmax(b)
    axis = Constant <value_ints = [1]> ()
    z = ReduceSum <keepdims = 0> (u, axis)
}"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    return written(tmp_path / "net.onnx", onnx_model(_NET))


def messages(net: Path, *options: str) -> list[dict[str, Any]]:
    """The messages of a compilation without caches."""
    file, output = net.with_suffix(".log"), net.with_suffix(".stepwell")
    arguments = ["compile", str(net), "-o", str(output), "--no-cache", "--log-file", str(file), "--log-json"]
    assert cli.main([*arguments, *options]) == 0
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_decisions_of_one_pass(net: Path) -> None:
    found = messages(net, "--log", "fuse-ops=1")
    assert [(m["pass"], m["level"], m["message"]) for m in found] == [("fuse-ops", 1, "2 kernels: 2 single")]


def test_rewrites_are_numbered_and_name_their_node(net: Path) -> None:
    found = [m for m in messages(net, "--log", "simplify-expr=2") if m["message"].startswith("rewrite ")]
    assert [m["message"].split(":")[0] for m in found] == [f"rewrite {n + 1}" for n in range(len(found))]
    assert "made nothing new of graph.reshape" in found[-1]["message"] and 'node "' in found[-1]["node"]


def test_a_rewrite_names_the_op_before_it_and_those_after_it(net: Path) -> None:
    found = messages(net, "--log", "convert-loops-to-llvm=2")
    assert any("made llvm.fadd of arith.addf" in m["message"] for m in found)


def test_the_option_wins_over_the_variable(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPWELL_LOG", "fuse-ops=1,simplify-expr=1")
    assert {m["pass"] for m in messages(net)} == {"fuse-ops", "simplify-expr"}
    assert {m["pass"] for m in messages(net, "--log", "simplify-expr=0")} == {"fuse-ops"}


def test_text_is_on_standard_error(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", str(net), "--emit", "graph", "--log", "fuse-ops=1"]) == 0
    out, error = capsys.readouterr()
    assert "fuse-ops: " not in out and re.fullmatch(r"[\d:.]+ 1 fuse-ops: 2 kernels: 2 single\n", error)


def test_opt_logs_too(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert opt.main([str(net), "-p", "convert-onnx-to-graph,fuse-ops", "--log", "fuse-ops=1"]) == 0
    assert "1 fuse-ops: " in capsys.readouterr().err


def test_names_that_nothing_has(
    net: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = shown_error(capsys, cli.main, "compile", net, "--log", "fuse-op=1")
    assert "error[bad-option]: no pass or module fuse-op; nearest: fuse-ops\n  --> --log" in error
    monkeypatch.setenv("STEPWELL_LOG", "passes/graph/fuse_op=1")
    assert "nearest: passes/graph/fusion/fuse_ops\n  --> STEPWELL_LOG" in shown_error(
        capsys, cli.main, "inspect", net
    )
    with pytest.raises(StepwellError, match="nearest: passes/graph/fusion/fuse_ops"):
        stepwell.compile(net)


def test_the_variable_is_for_python_too(
    net: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_LOG", "fuse-ops=1")
    stepwell.compile(net, use_cache=False)
    monkeypatch.delenv("STEPWELL_LOG")
    stepwell.compile(net, use_cache=False)
    assert caplog.messages == ["2 kernels: 2 single"]


@whole
@pytest.mark.usefixtures("kernel_workers")
def test_messages_of_workers_come_in_the_order_of_kernels(
    net: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_LOG", "choose-schedules=2,vectorize=1")
    found: list[list[tuple[object, ...]]] = []
    for processes in (1, 3):
        caplog.clear()
        stepwell.compile(net, use_cache=False, processes=processes)
        rows = [(r.name, vars(r)["step"], vars(r)["node"], r.getMessage()) for r in caplog.records]
        found.append([row for row in rows if not row[3].startswith("pass ")])  # with times
    assert found[0] == found[1] and len({node for _, _, node, _ in found[0]}) == 2


def test_no_key_knows_of_it(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = stepwell.compile(net.read_bytes())
    assert first.image.effort["cached kernels"] == 0
    monkeypatch.setenv("STEPWELL_LOG", "3")
    again = stepwell.compile(net.read_bytes())
    assert again.image.effort["cached kernels"] == again.image.summary["kernels"] == 2
