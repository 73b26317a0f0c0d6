"""Comparison with a reference: guilt and inheritance, kernel by kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import stepwell
from stepwell.dialects import graph
from stepwell.passes.graph.simplify.simplify_expr import SimplifyExprPass
from stepwell.passes.loop.math.expand_math import ExpandMathPass
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.commands import written
from tests.onnx_models import onnx_model

RANDOM = np.random.default_rng(0)
SOFTMAX = onnx_model(
    "g (float[4, 8] x, float[8, 8] w) => (float[4, 8] y)"
    " { a = MatMul (x, w) s = Softmax (a) y = MatMul (s, w) }"
)
SUBTRACT = onnx_model(
    "g (float[4, 8] x, float[4, 8] w) => (float[4, 8] y)"
    " { a = Exp (x) d = Sub (a, w) r = Relu (d) y = Add (r, x) }"
)
FEEDS = {"x": RANDOM.standard_normal((4, 8), np.float32), "w": RANDOM.standard_normal((8, 8), np.float32)}


def break_expand_math(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug on level 3: exp(x) becomes exp(2 x)."""
    right = ExpandMathPass.apply

    def wrong(self: ExpandMathPass, ctx: Context, op: ModuleOp) -> None:
        for exp in [inner for inner in op.walk() if isinstance(inner, math.ExpOp)]:
            double = arith.AddfOp(exp.operand, exp.operand)
            Rewriter.insert_op(double, InsertPoint.before(exp))
            exp.operands[0] = double.result
        right(self, ctx, op)

    monkeypatch.setattr(ExpandMathPass, "apply", wrong)


def break_simplify_expr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a bug on level 1: exp(x) - b becomes b - exp(x)."""
    right = SimplifyExprPass.apply_to_function

    def wrong(self: SimplifyExprPass, ctx: Context, func: FuncOp) -> None:
        for op in func.walk():
            if isinstance(op, graph.SubtractOp) and isinstance(op.lhs.owner, graph.ExpOp):
                op.operands = list(reversed(op.operands))
        right(self, ctx, func)

    monkeypatch.setattr(SimplifyExprPass, "apply_to_function", wrong)


def test_a_wrong_kernel_is_distinguished_from_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    break_expand_math(monkeypatch)
    session = stepwell.debug(SOFTMAX, use_cache=False)
    session.run(FEEDS)
    comparison = session.compare()
    assert [kernel.is_right for kernel in comparison.kernels] == [True, False, True]
    totals = [kernel.total for kernel in comparison.kernels]
    assert totals[0] is not None and totals[0] < 1e-4
    assert all(total is not None and total > 1e-3 for total in totals[1:])
    first = comparison.first
    assert first is not None and first.value.node == "Softmax#1" and not first.is_of_graph
    assert first.kernel is comparison.kernels[1]
    assert "on its own inputs: wrong" in str(comparison)


def test_a_wrong_pass_of_the_graph_leaves_the_kernels_right(monkeypatch: pytest.MonkeyPatch) -> None:
    break_simplify_expr(monkeypatch)
    session = stepwell.debug(SUBTRACT, use_cache=False)
    session.run({"x": FEEDS["x"], "w": FEEDS["w"][:4]})
    comparison = session.compare()
    assert all(kernel.is_right for kernel in comparison.kernels)
    first = comparison.first
    assert first is not None and (first.value.node, first.value.op, first.value.name) == ("Sub#1", "Sub", "d")
    assert first.is_of_graph and "so a graph pass did it" in str(first)
    facts = first.to_json()
    assert facts["node"] == "Sub#1" and facts["level"] == "graph"


QUANTIZED = onnx_model(
    "g (float[4] x, float[4] w) => (float[4] y) <float s = {0.1}, int8 z = {0}>"
    " { a = Mul (x, w) q = QuantizeLinear (a, s, z) y = DequantizeLinear (q, s, z) }"
)


@pytest.mark.parametrize(("factor", "is_right"), [(0.7, True), (0.62, False)], ids=["half", "elsewhere"])
def test_a_step_is_right_where_other_roundings_give_it(
    factor: float, is_right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.5 * 0.7 is between two steps of 0.1: a rounding of the product decides; 0.5 * 0.62 is not."""
    session = stepwell.debug(QUANTIZED, opt_level=0, use_cache=False)
    x, w = np.array([1, 0.5, 0.8, 3], np.float32), np.array([9, factor, 0.65, 1.1], np.float32)
    session.run({"x": x, "w": w})
    plain = session.recorded.array

    def stepped(value: SSAValue) -> object:
        found = plain(value)
        if found is None or not isinstance(value.owner, graph.FusedOp):
            return found
        found = np.array(found)
        found[1] += 0.1 if found[1] < 0.36 else -0.1
        return found

    monkeypatch.setattr(session.recorded, "array", stepped)
    (kernel,) = session.compare().kernels
    assert kernel.local is not None and kernel.local > 0.01
    assert kernel.is_right is is_right


@pytest.mark.parametrize("against", ["reference", "onnxruntime"])
def test_nothing_departs(against: str) -> None:
    if against == "onnxruntime":
        pytest.importorskip("onnxruntime")
    session = stepwell.debug(SOFTMAX)
    session.run(FEEDS)
    comparison = session.compare(against)
    assert comparison.first is None and not comparison.unjudged
    assert [value.name for value in comparison.values] == ["a", "s", "y"]
    assert "nothing departs" in str(comparison)


def test_a_dump_is_a_reference(tmp_path: Path) -> None:
    session = stepwell.debug(SOFTMAX)
    session.run(FEEDS)
    session.write(tmp_path / "a")
    assert session.compare(str(tmp_path / "a" / "values.npz")).first is None
    session.run({**FEEDS, "x": FEEDS["x"] + 1})
    first = session.compare(str(tmp_path / "a" / "values.npz")).first
    assert first is not None and first.value.name == "a"
    assert session.compare({"s": session.get("s")}).first is None


def test_what_is_no_reference_is_refused(tmp_path: Path) -> None:
    session = stepwell.debug(SOFTMAX)
    session.run(FEEDS)
    with pytest.raises(StepwellError, match="there is no reference 'torch'") as error:
        session.compare("torch")
    assert error.value.code == "bad-option"
    (tmp_path / "x.npz").write_bytes(b"no archive")
    with pytest.raises(StepwellError) as error:
        session.compare(str(tmp_path / "x.npz"))
    assert error.value.code == "bad-inputs"


def test_arrays_of_other_names_are_no_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That nothing departs would be said of nothing: of other names, and of an input alone."""
    model = written(tmp_path / "m.onnx", SOFTMAX)
    for name in ("other", "x"):
        arrays: dict[str, Any] = {name: FEEDS["x"]}
        np.savez(tmp_path / "v.npz", **arrays)
        assert cli.main(["debug", str(model), "--against", str(tmp_path / "v.npz")]) == 1
        shown = capsys.readouterr()
        assert "nothing departs" not in shown.out
        assert "error[no-reference]: nothing was compared" in shown.err
        assert f"the reference has {name}, the model a, s, y" in shown.err


def test_a_node_without_a_reference_is_not_judged_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the evaluator cannot run a node, ONNX Runtime judges; without it the values are listed."""
    import stepwell.tools.debug.references as references

    monkeypatch.setattr(references, "find_spec", lambda name: None)
    model = onnx_model(
        "g (float[4, 8] x) => (float[4, 8] y) { a = Exp (x) b = com.acme.Twice (a) y = Relu (b) }",
        header=', "com.acme" : 1',
    )
    reference = references.reference_values("reference", model, {"x": FEEDS["x"]})
    assert "a" not in reference.values or "b" not in reference.values
    assert reference.refused


def test_check_of_run_names_the_node_and_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = written(tmp_path / "m.onnx", SUBTRACT)
    assert cli.main(["run", str(model), "--check"]) == 0
    break_simplify_expr(monkeypatch)
    assert cli.main(["run", str(model), "--check", "--no-cache"]) == 1
    shown = capsys.readouterr().out
    assert 'wrong: node "Sub#1" (Sub), value "d"' in shown and "so a graph pass did it" in shown
    assert "simplify-expr (level graph)" in shown and "--pass-limit" in shown
    assert cli.main(["debug", str(model), "--against", "reference", "--no-cache", "--json"]) == 1
    first = json.loads(capsys.readouterr().out)["first"]
    assert (first["pass"], first["level"], first["node"]) == ("simplify-expr", "graph", "Sub#1")
    assert first["replay"].startswith("stepwell run ")
