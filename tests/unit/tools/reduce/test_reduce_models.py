"""`stepwell reduce` of ONNX models: small cases that fail as the model does, at any kind of failure."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from stepwell.tools.reduce.attached_plugins import attached_plugin
from tests.onnx_models import onnx_model
from tests.support.faults import planted
from tests.support.forks import found_in, status_in
from tests.support.samples import whole

ROWS = ["N", 8]


def chain(length: int, middle: Sequence[onnx.NodeProto] = (), last: str = "x1") -> ModelProto:
    """A model of a chain of nodes around some others, which read x and make `last`; batch size symbolic."""
    kinds = ("Sin", "Sigmoid", "Neg", "Erf")
    before = [helper.make_node("Tanh", ["x"], ["x0"], "n0"), helper.make_node("Exp", ["x0"], ["x1"], "n1")]
    after = [
        helper.make_node(kinds[i % 4], [last if i == 2 else f"x{i - 1}"], [f"x{i}"], f"n{i}")
        for i in range(2, length)
    ]
    info = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ROWS) for name in ("x", f"x{length - 1}"))
    x, y = info
    graph = helper.make_graph([*before, *middle, *after], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


WRONG = [
    helper.make_node("Sub", ["x1", "x0"], ["s"], "minus"),
    helper.make_node("Relu", ["s"], ["r"], "floor"),
]


def reduced(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The status and results of `stepwell reduce model.onnx -o small.onnx`, in a process of its own."""
    return found_in(folder, "reduce", "model.onnx", "-o", "small.onnx", *arguments)


def small(folder: Path) -> list[str]:
    """The op types of the reduced model."""
    return [node.op_type for node in onnx.load(folder / "small.onnx").graph.node]


def test_a_wrong_rewrite_is_the_only_node_left(tmp_path: Path) -> None:
    onnx.save(chain(40, WRONG, "r"), tmp_path / "model.onnx")
    plugin = planted("simplify-expr", tmp_path)
    status, found = reduced(tmp_path, "--load", plugin.name)
    assert (status, found["schema"]) == (0, "stepwell-reduce/1")
    assert (found["nodes_before"], found["nodes_after"]) == (42, 1)
    assert found["signature"]["kind"] == "wrong"
    assert found["signature"]["pass"] == "simplify-expr"
    assert "minus" in found["signature"]["node"]
    assert found["probes"] <= 20
    assert small(tmp_path) == ["Sub"]
    model = onnx.load(tmp_path / "small.onnx")
    assert {info.type.tensor_type.shape.dim[0].dim_param for info in model.graph.input} == {"N"}
    with np.load(tmp_path / "small.npz") as arrays:
        assert {*arrays} == {info.name for info in model.graph.input}
    assert status_in(tmp_path, shlex.split(found["command"])[1:]) == 1
    script = tmp_path / "small.sh"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "--check" in script.read_text()


@whole
def test_the_case_has_its_plugin_and_runs_in_any_folder(tmp_path: Path) -> None:
    onnx.save(chain(4, WRONG, "r"), tmp_path / "model.onnx")
    plugin = planted("simplify-expr", tmp_path)
    (tmp_path / "case").mkdir()
    arguments = ("reduce", "model.onnx", "-o", "case/small.onnx", "--load", str(plugin))
    status, found = found_in(tmp_path, *arguments)
    assert status == 0
    names = ("small.onnx", "small.npz", "small.sh", plugin.name)
    assert found["files"] == [str(Path("case") / name) for name in names]
    (tmp_path / "case").rename(tmp_path / "elsewhere")
    plugin.unlink()
    script = (tmp_path / "elsewhere" / "small.sh").read_text()
    assert str(tmp_path) not in script
    words = script.splitlines()[1].replace('"$(dirname "$0")"', str(tmp_path / "elsewhere"))
    assert status_in(tmp_path, shlex.split(words)[1:]) == 1


def test_the_plugins_that_lie_beside_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, case = tmp_path / "alone.py", tmp_path / "case"
    plugin.write_text("first")
    case.mkdir()
    assert attached_plugin("a.dotted.module", case) is None
    assert attached_plugin(str(plugin), tmp_path) == attached_plugin(str(plugin), case) == "alone.py"
    plugin.write_text("second")
    assert attached_plugin(str(plugin), case) is None, "a file of the case's folder was overwritten"
    (case / "alone.py").unlink()
    (tmp_path / "helper_of_alone.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    import_module("helper_of_alone")
    assert attached_plugin(str(plugin), case) is None and not (case / "alone.py").exists()


@whole
def test_a_fault_in_a_kernel_is_kept_by_its_pass(tmp_path: Path) -> None:
    onnx.save(chain(4, WRONG, "r"), tmp_path / "model.onnx")
    status, found = reduced(tmp_path, "--wrong", "--load", planted("expand-math", tmp_path).name)
    assert (status, found["signature"]["pass"]) == (0, "expand-math")
    assert found["nodes_after"] <= 2
    assert "Sub" in small(tmp_path)


@whole
def test_an_unsupported_op_is_the_only_node_left(tmp_path: Path) -> None:
    node = helper.make_node("Unheard", ["x1"], ["u"], "odd", domain="some.where")
    model = chain(30, [node], "u")
    model.opset_import.append(helper.make_opsetid("some.where", 1))
    onnx.save(model, tmp_path / "model.onnx")
    status, found = reduced(tmp_path)
    assert (status, found["nodes_after"], small(tmp_path)) == (0, 1, ["Unheard"])
    assert found["signature"]["kind"] == "error"
    assert status_in(tmp_path, shlex.split(found["command"])[1:]) == 1


def test_an_error_in_a_branch_leaves_the_branch(tmp_path: Path) -> None:
    body = """g (float[2, 8] x, bool c) => (float[2, 8] y) {
      a = Tanh(x)
      b = If (c) <
        then_branch = t () => (float[2, 8] p) { q = Sin(a) p = Unheard(q) },
        else_branch = e () => (float[2, 8] o) { o = Cos(a) }
      >
      y = Exp(b)
    }"""
    model = onnx_model(body)
    onnx.save(model, tmp_path / "model.onnx")
    status, found = reduced(tmp_path, "--error")
    assert (status, small(tmp_path)) == (0, ["Unheard"])
    assert found["nodes_before"] == 3


@whole
def test_an_error_about_two_ops_keeps_both(tmp_path: Path) -> None:
    first = helper.make_node("Unheard", ["x1"], ["u"], "odd", domain="some.where")
    second = helper.make_node("Unknown", ["u"], ["v"], "odder", domain="some.where")
    model = chain(6, [first, second], "v")
    model.opset_import.append(helper.make_opsetid("some.where", 1))
    onnx.save(model, tmp_path / "model.onnx")
    assert reduced(tmp_path)[0] == 0
    assert small(tmp_path) == ["Unheard", "Unknown"]


def test_a_model_that_cannot_be_read(tmp_path: Path) -> None:
    node = helper.make_node("Unheard", ["x1"], ["u"], "odd", domain="some.where")
    onnx.save(chain(20, [node], "u"), tmp_path / "model.onnx")
    status, found = reduced(tmp_path)
    assert (status, found["signature"]["code"], small(tmp_path)) == (0, "unknown-opset", ["Unheard"])


def test_a_command_says_what_is_interesting(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    onnx.save(chain(10, WRONG, "r"), tmp_path / "model.onnx")
    status, found = reduced(tmp_path, "--test", "grep -q Erf {}", "--jobs", "2")
    assert (status, small(tmp_path)) == (0, ["Erf"])
    assert found["command"] == "grep -q Erf small.onnx"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("true {}", "calls an empty program interesting"),
        ("false {}", "does not call the input interesting: it ended with 1"),
        ("kill -9 $$ # {}", "does not call the input interesting: signal 9 ended it"),
        ("no-such-command {}", "the shell cannot run the command"),
        ("grep Erf", "the command names no case"),
        ("test -e flag && rm flag || touch flag && ! test -e flag # {}", "not repeatable"),
    ],
)
def test_a_command_of_no_use_is_refused(
    command: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    onnx.save(chain(4), tmp_path / "model.onnx")
    assert reduced(tmp_path, "--test", command)[0] == 1
    errors = capfd.readouterr().err
    assert "bad-test" in errors
    assert message in errors
    assert not (tmp_path / "small.onnx").exists()


HANGS = """
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate

Faulty = load_pass("simplify-expr")
plain = Faulty.apply
register_predicate("hangs.any")(lambda value: True)  # a plugin registers something

def apply(self, ctx, op):
    plain(self, ctx, op)
    minus = [inner for inner in op.walk() if inner.name == "graph.subtract"]
    while minus and not any(inner.name == "graph.exp" for inner in op.walk()):
        pass
    for inner in minus:
        if "swapped" not in inner.attributes:
            inner.operands = inner.operands[::-1]
            inner.attributes["swapped"] = inner.result.type

Faulty.apply = apply
"""


@whole
def test_a_case_whose_pass_never_returns_is_given_up(tmp_path: Path) -> None:
    onnx.save(chain(3, WRONG, "r"), tmp_path / "model.onnx")
    (tmp_path / "hangs.py").write_text(HANGS)
    status, found = reduced(tmp_path, "--wrong", "--load", "hangs.py", "--timeout", "0.5")
    assert (status, found["signature"]["pass"]) == (0, "simplify-expr")
    assert small(tmp_path) == ["Exp", "Sub"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "shape", "dtype", "code"),
    [
        ("other", (2, 8), "float32", "extra-input"),
        ("x", (2, 8, 1), "float32", "bad-inputs"),
        ("x", (2, 9), "float32", "shape-mismatch"),
        ("x", (2, 8), "float64", "type-mismatch"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    code: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The error that a run with them gives is not a fault to reduce."""
    onnx.save(chain(4, WRONG, "r"), tmp_path / "model.onnx")
    np.savez(tmp_path / "x.npz", allow_pickle=False, **{name: np.ones(shape, dtype)})
    plugin = planted("simplify-expr", tmp_path).name
    assert reduced(tmp_path, "--load", plugin, "--inputs", "x.npz")[0] == 1
    errors = capfd.readouterr().err
    assert f"error[{code}]" in errors and "--> x.npz" in errors
    assert not (tmp_path / "small.onnx").exists()


@whole
def test_a_model_that_is_right_is_not_interesting(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    onnx.save(chain(4), tmp_path / "model.onnx")
    assert reduced(tmp_path)[0] == 1
    errors = capfd.readouterr().err
    assert "error[not-interesting]: the model compiles and agrees with the reference" in errors


def test_another_code_is_not_interesting(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    node = helper.make_node("Unheard", ["x1"], ["u"], "odd", domain="some.where")
    onnx.save(chain(4, [node], "u"), tmp_path / "model.onnx")
    assert reduced(tmp_path, "--error", "too-large")[0] == 1
    errors = capfd.readouterr().err
    assert "expected error[too-large], found error[" in errors
