"""The command `stepwell debug`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stepwell.tools import cli
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model

MODEL = onnx_model("g (float[4] x) => (float[4] y) { a = Sub (x, x) b = Log (a) y = Exp (b) }")
Capture = pytest.CaptureFixture[str]


def model(folder: Path) -> str:
    return str(written(folder / "m.onnx", MODEL))


def test_list_and_get(tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["debug", model(tmp_path), "--list", "--get", "y", "--opt-level", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "x  4 float32  input"
    assert lines[1].startswith("a  4 float32  computed  node Sub#0, kernel k0")
    assert lines[-2:] == ["y: float32[4]  min 0  mean 0  max 0", "[0. 0. 0. 0.]"]


def test_json_and_findings(tmp_path: Path, capsys: Capture) -> None:
    """A finding, or a departure, is exit status 1; all is data first."""
    argv = ["debug", model(tmp_path), "--opt-level", "0", "--watch", "nan,overflow", "--against", "reference"]
    assert cli.main([*argv, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "stepwell-debug/1"
    assert [value["name"] for value in facts["values"]] == ["x", "a", "b", "y"]
    assert facts["values"][1].keys() == {"name", "node", "kernel", "how", "shape", "dtype", "note"}
    (kernel,) = facts["kernels"]
    assert kernel.keys() == {"name", "nodes", "local", "total", "allowed"}
    assert facts["first"] is None
    assert [finding["node"] for finding in facts["findings"]] == ["Log#1"]
    assert cli.main(["debug", model(tmp_path), "--against", "reference", "--json"]) == 0


def test_set_goes_on(tmp_path: Path, capsys: Capture) -> None:
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    argv = [
        "debug",
        str(written(tmp_path / "r.onnx", onnx_model("g (float[4] x) => (float[4] y) { y = Neg (x) }"))),
    ]
    assert cli.main([*argv, "--set", f"x={tmp_path / 'x.npy'}", "--get", "y"]) == 0
    assert "[-1. -1. -1. -1.]" in capsys.readouterr().out
    np.save(tmp_path / "bad.npy", np.ones(3, np.float32))
    assert "error[shape-mismatch]" in shown_error(
        capsys, cli.main, *argv, "--set", f"x={tmp_path / 'bad.npy'}"
    )
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-2])
    assert "error[bad-inputs]" in shown_error(capsys, cli.main, *argv, "--set", f"x={tmp_path / 'cut.npy'}")


def test_dump_has_the_keys_of_the_debug_executor(tmp_path: Path) -> None:
    assert cli.main(["debug", model(tmp_path), "--dump", str(tmp_path / "d"), "--opt-level", "0"]) == 0
    graph = json.loads((tmp_path / "d" / "graph.json").read_text())
    assert graph.keys() == {"nodes", "arg_nodes", "heads", "node_row_ptr", "attrs"}
    argument, kernel = graph["nodes"]
    assert (argument["op"], argument["name"], graph["arg_nodes"]) == ("null", "x", [0])
    assert kernel["inputs"] == [[0, 0, 0]] and kernel["attrs"]["func_name"] == "k0"
    assert graph["heads"] == [[1, 0, 0]] and graph["node_row_ptr"] == [0, 1, 2]
    values = np.load(tmp_path / "d" / "values.npz", allow_pickle=False)
    assert sorted(values) == ["a", "b", "x", "y"]


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--get", "q"], 'error[no-value]: the model has no value "q"'),
        (["--watch", "foo"], "error[bad-option]"),
        (["--against", "torch"], "error[bad-option]: there is no reference 'torch'"),
        (["--iteration", "1"], "error[unsupported]: the program has no loop"),
    ],
)
def test_bad_arguments(argv: list[str], shown: str, tmp_path: Path, capsys: Capture) -> None:
    assert shown in shown_error(capsys, cli.main, "debug", model(tmp_path), *argv)


def test_an_artifact_is_refused(tmp_path: Path, capsys: Capture) -> None:
    artifact = tmp_path / "m.stepwell"
    assert cli.main(["compile", model(tmp_path), "-o", str(artifact)]) == 0
    capsys.readouterr()
    error = shown_error(capsys, cli.main, "debug", artifact)
    assert "error[no-source]: an artifact holds no IR" in error
