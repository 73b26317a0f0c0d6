"""`stepwell inspect --kernels`, `--memory`, `--passes`: what a compilation made of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.lowering.main_to_buffers import letter_of
from stepwell.tools import cli
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

_NET = """g (float[N, 64] x, float[64, 96] w, float[96, 96] v) => (float[N, 96] y) {
    [first] a = MatMul(x, w)
    [turned] r = Relu(a)
    [second] b = MatMul(r, v)
    [shares] s = Softmax(b)
    [sum] y = Add(s, r)
}"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    return written(tmp_path / "net.onnx", onnx_model(_NET))


def facts_of(net: Path, *options: str) -> dict[str, Any]:
    path = net.with_suffix(".json")
    assert cli.main(["inspect", str(net), "--json", str(path), *options]) == 0
    facts = json.loads(path.read_text())
    assert facts["schema"] == "stepwell-inspect/1"
    return facts


def test_kernels(net: Path) -> None:
    rows = facts_of(net, "--kernels")["kernels"]
    assert [row["nodes"] for row in rows] == [["first", "turned"], ["second"], ["shares", "sum"]]
    assert [row["rule"] for row in rows] == ["contraction", "single", "rows"]
    model = stepwell.compile(net)
    assert [row["kernel"] for row in rows] == list(model.kernels)
    for row in rows:
        assert row["calls"] == 1 and row["code_bytes"] > 100 and row["spills"] >= 0
        assert row["schedules"] and row["symbol"].startswith("k_")
        assert model.kernels[row["kernel"]].schedule.count("\n") == len(row["schedules"]) - 1


def test_equal_kernels_are_a_row(tmp_path: Path) -> None:
    text = "g (float[8, 8] x) => (float[8, 8] y) { [a] h = MatMul(x, x) [b] y = MatMul(h, h) }"
    (row,) = facts_of(written(tmp_path / "net.onnx", onnx_model(text)), "--kernels")["kernels"]
    assert row["calls"] == 2 and row["nodes"] == ["a"]


def test_memory_is_that_of_the_compiled_model(net: Path) -> None:
    arena = stepwell.compile(net).interface.arena_bytes
    for size in (1, 7, 40):  # the first one compiles @main, the others find it in the cache
        table = facts_of(net, "--memory", "--size", f"N={size}")["memory"]
        assert table["arena_bytes"] == arena.evaluate({"N": size}) > 0 and table["sizes"] == {"N": size}
        in_arena = [row for row in table["rows"] if row["offset"] is not None]
        assert max(row["offset"] + row["bytes"] for row in in_arena) <= table["arena_bytes"]
        for i, one in enumerate(in_arena):
            for two in in_arena[i + 1 :]:
                if one["first"] <= two["last"] and two["first"] <= one["last"]:  # alive together
                    ends = one["offset"] + one["bytes"], two["offset"] + two["bytes"]
                    assert ends[0] <= two["offset"] or ends[1] <= one["offset"]
    assert str(arena) == table["arena_formula"]


def test_the_picture_shows_buffers_where_they_are(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = facts_of(net, "--memory", "--size", "N=64")["memory"]
    lines = table["diagram"].splitlines()
    assert len(lines) == 17 and all(len(line) <= 80 for line in lines)
    grid = [line.partition("|")[2] for line in reversed(lines[:16])]
    row = table["arena_bytes"] / 16
    for number, buffer in enumerate(table["rows"]):
        if buffer["bytes"] > 2 * row:
            middle = int((buffer["offset"] + buffer["bytes"] / 2) / row)
            shown = grid[middle].ljust(80)[buffer["first"] : buffer["last"] + 1]
            assert set(shown) == {letter_of(number)}
    capsys.readouterr()
    assert cli.main(["inspect", str(net), "--memory", "--size", "N=64", "--formulas"]) == 0
    printed = capsys.readouterr().out
    assert f"arena: {table['arena_formula']} bytes" in printed and lines[0] in printed
    assert "turned" in printed and "where N=64" in printed


def test_passes(net: Path) -> None:
    rows = {row["name"]: row for row in facts_of(net, "--passes")["passes"]}
    assert rows["fuse-ops"]["level"] == "1" and rows["fuse-ops"]["runs"] == 1
    assert rows["convert-onnx-to-graph"]["rewrites"] >= 5 and rows["vectorize"]["runs"] == 3
    assert rows["convert-graph-to-linalg"]["ops_after"] > rows["convert-graph-to-linalg"]["ops_before"]
    assert all(row["milliseconds"] > 0 for row in rows.values())
    assert list(rows)[0] == "convert-onnx-to-graph" and {"plan-memory", "vectorize"} <= set(rows)


def test_all_as_text(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(net), "--kernels", "--memory", "--passes"]) == 0
    kernels, memory, passes = capsys.readouterr().out.split("\n\n")
    assert kernels.split("\n")[0].split() == "kernel calls bytes spills rule schedule nodes".split()
    assert "first, turned" in kernels and "without sharing" in memory and "choose-schedules" in passes


def test_the_printed_plan_has_the_picture(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(net.with_suffix(".stepwell"))
    assert cli.main(["compile", str(net), "-o", output, "--print-memory-plan"]) == 0
    assert facts_of(net, "--memory")["memory"]["diagram"] in capsys.readouterr().err


def test_what_has_no_tables(net: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = shown_error(capsys, cli.main, "inspect", net, "--memory", "--size", "M=3")
    assert "error[bad-option]: the model has no open size M" in error and "it has N" in error
    stepwell.compile(net).save(tmp_path / "m.stepwell")
    assert "unknown-file-type" in shown_error(
        capsys, cli.main, "inspect", tmp_path / "m.stepwell", "--kernels"
    )
    assert cli.main(["compile", str(net), "--emit", "loops", "-o", str(tmp_path / "m.mlir")]) == 0
    capsys.readouterr()
    assert "has no kernels" in shown_error(capsys, cli.main, "inspect", tmp_path / "m.mlir", "--kernels")


def test_buffers_whose_size_depends_on_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[N] x) => (int64[1, K] z) { a = Abs(x) z = NonZero(a) }"
    path = written(tmp_path / "net.onnx", onnx_model(text))
    rows = facts_of(path, "--memory", "--kernels")["memory"]["rows"]
    late = [row for row in rows if row["offset"] is None]
    assert late and all(row["letter"] == "" for row in late) and any(row["bytes"] is None for row in late)
    capsys.readouterr()
    assert cli.main(["inspect", str(path), "--memory", "--formulas"]) == 0
    assert " - " in capsys.readouterr().out


@whole
def test_text_of_level_1_and_2_has_kernels_without_nodes(net: Path, tmp_path: Path) -> None:
    for level in ("graph", "linalg"):
        path = tmp_path / f"{level}.mlir"
        assert cli.main(["compile", str(net), "--emit", level, "-o", str(path)]) == 0
        rows = facts_of(path, "--kernels")["kernels"]
        assert len(rows) == 3 and not any(row["rule"] or row["nodes"] for row in rows)


def test_the_import_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[2] x) => (float[2] y) { [draw] r = RandomUniformLike (x) y = Add (x, r) }"
    plain = stepwell.compile(onnx_model(text), threads=1)
    text = "g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { a = Mul(x, w) y = Exp(a) }"
    parted = stepwell.compile(onnx_model(text), backends=["onnxruntime"], fallback=True)
    stepwell.Library({"draw": plain, "part": parted}).save(tmp_path / "both.stepwell")
    assert cli.main(["inspect", str(tmp_path / "both.stepwell"), "--tree"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # The draw is in Python; the partition has code of the backend's, and a model with a function of its own.
    assert lines[0].startswith("library both.stepwell")
    assert lines[1] == "├── function draw: (x: float32[2]) -> (y: float32[2])"
    assert lines[3].startswith("│   └── numpy host.") and lines[3].endswith('node "draw"')
    kinds = [line.strip("│├└─ ").split()[0] for line in lines]
    tree = "library function code numpy function code partition onnxruntime model function code"
    assert kinds == tree.split()


def test_a_model_that_is_not_compiled_has_no_import_tree(
    net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "stepwell compile" in shown_error(capsys, cli.main, "inspect", net, "--tree")
