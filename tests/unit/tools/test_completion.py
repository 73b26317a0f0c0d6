"""The candidates of `stepwell __complete`, which come from the parsers."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.frontend.formats import model_suffixes
from stepwell.tools import cli
from stepwell.tools.completion import complete
from tests.commands import Capture


def texts(*words: str, shell: str = "fish") -> list[str]:
    return [candidate.text for candidate in complete(shell, words)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("stepwell", "comp"), ["compile", "completion"]),
        (("/usr/bin/stepwell", "--debug", "compi"), ["compile"]),
        (("stepwell", "compile", "--opt-level", ""), ["0", "1", "2", "3"]),
        (("stepwell", "compile", "--opt-level=", ""), [f"--opt-level={n}" for n in range(4)]),
        (("stepwell", "compile", "--opt-l"), ["--opt-level"]),
        (("stepwell", "completion", ""), ["bash", "zsh", "fish"]),
        (("stepwell", "completion", "bash", ""), []),
        (("stepwell", "compile", "--disable-pass", "fuse-o"), ["fuse-ops"]),
        (("stepwell", "compile", "--backend", "onnx"), ["onnxruntime"]),
        (("stepwell", "compile", "--backend", "reference,onnx"), ["reference,onnxruntime"]),
        (("stepwell", "compile", "--mcpu", "x86-64-v4"), ["x86-64-v4"]),
        (("stepwell", "compile", "--target", ""), []),
        (("stepwell-opt", "-p", "cse,fuse-o"), ["cse,fuse-ops"]),
        (("stepwell-opt", "--config", "fuse-ops.max"), ["fuse-ops.max-ops="]),
        (("stepwell-opt", "--print-analysis", "call-"), ["call-graph"]),
        (("stepwell", "nope", "--x"), []),
        (("stepwell", "rpc", ""), ["serve", "tracker", "proxy", "devices", "trust"]),
        (("stepwell", "rpc", "serve", "--max"), ["--max-bytes"]),
        (("stepwell", "rpc", "trust", "--host"), []),
    ],
)
def test_candidates(words: tuple[str, ...], expected: list[str]) -> None:
    assert texts(*words) == expected


def test_bash_splits_words_at_equals_signs() -> None:
    assert texts("stepwell", "compile", "--opt-level", "=", "", shell="bash") == ["0", "1", "2", "3"]
    assert texts("stepwell", "compile", "--opt-level", "=", "2", shell="bash") == ["2"]


def test_files_by_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.onnx", "b c.mlir", "d.txt", ".hidden.onnx", "e.py", "x.npz"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "f.onnx").touch()
    monkeypatch.chdir(tmp_path)
    assert texts("stepwell", "compile", "") == ["a.onnx", "b c.mlir", "folder/"]
    assert texts("stepwell", "compile", "--no-cache", "folder/") == ["folder/f.onnx"]
    assert texts("stepwell", "compile", "--dump", "") == ["folder/"]
    assert texts("stepwell", "compile", "a.onnx", "--load", "") == ["e.py", "folder/"]
    assert texts("stepwell", "run", "a.onnx", "--inputs", "x") == ["x.npz"]
    assert texts("stepwell", "compile", "-o", "") == [
        "a.onnx",
        "b c.mlir",
        "d.txt",
        "e.py",
        "folder/",
        "x.npz",
    ]
    assert texts("stepwell", "compile", "nowhere/") == []
    monkeypatch.setenv("HOME", str(tmp_path))
    assert texts("stepwell", "compile", "~/fold") == ["~/folder/"]


def test_files_of_all_kinds_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = sorted(f"m{suffix}" for suffix in (*model_suffixes(), ".mlir"))
    for name in (*names, "m.stepwell", "m.txt"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert texts("stepwell-opt", "") == names
    assert texts("stepwell", "run", "") == sorted([*names, "m.stepwell"])
    (model,) = [each for each in cli.command_lines(("run",))["run"].actions if each.dest == "model"]
    assert [suffix for suffix in model_suffixes() if suffix not in str(model.help)] == []


def test_the_command_of_the_scripts(capsys: Capture) -> None:
    assert cli.main(["__complete", "fish", "stepwell", "calib"]) == 0
    assert capsys.readouterr().out == "calibrate\tmeasure what this machine can do: arithmetic and memory\n"
    assert cli.main(["completion", "fish"]) == 0
    assert "stepwell __complete fish" in capsys.readouterr().out
