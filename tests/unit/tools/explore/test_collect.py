"""The explorer's data: every node, value and kernel is there, and lines name nodes on every level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper

from stepwell.dialects.printed_lines import printed_lines
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import emit_assembly
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from stepwell.tools.explore.kernel_steps import located
from stepwell.tools.explore.overlays import SCHEMA
from stepwell.tools.measure.calibrate import MachineLimits
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

Data = dict[str, Any]
DIGITS = Path(__file__).resolve().parents[4] / "examples" / "digits.onnx"
PROFILED = CompileOptions(profile=True)


@pytest.fixture(scope="module")
def digits() -> Data:
    """The data of the digits model, as JSON brings it back."""
    return json.loads(json.dumps(collect(DIGITS, PROFILED, run=False)))


def model_of(folder: Path, body: str) -> Path:
    """A model as a file, its nodes named by their position and op."""
    proto = onnx_model(body)
    for index, node in enumerate(proto.graph.node):
        node.name = f"/block.{index // 2}/{node.op_type}_{index}"
    return written(folder / "m.onnx", proto)


def test_nodes_values_and_edges_are_those_of_the_model(digits: Data):
    assert digits["schema"] == SCHEMA
    assert [(n["name"], n["op"]) for n in digits["nodes"]] == [
        ("layer0", "Gemm"), ("relu0", "Relu"), ("layer1", "Gemm"), ("softmax", "Softmax")
    ]  # fmt: skip
    assert [w["name"] for w in digits["weights"]] == ["w0", "b0", "w1", "b1"]
    values = {v["name"]: v for v in digits["values"]}
    assert values["h0"]["shape"] == ["N", 192] and values["h0"]["dtype"] == "float32"
    assert values["w0"]["bytes"] == 64 * 192 * 4
    assert [e["fused"] for e in digits["edges"]] == [True, False, False]
    assert all(bool(e["why"]) != e["fused"] for e in digits["edges"])
    assert "reduction" in digits["edges"][2]["why"]


def test_each_kernel_has_steps_on_all_levels_with_lines_of_its_nodes(digits: Data):
    assert len(digits["kernels"]) == 3
    for kernel in digits["kernels"]:
        assert {step["level"] for step in kernel["steps"]} == {"graph", "tensor", "loop", "llvm"}
        (call,) = (call for call in digits["calls"] if call["kernel"] == kernel["id"])
        for level in ("graph", "tensor", "loop", "llvm"):
            step = [s for s in kernel["steps"] if s["level"] == level and "text" in s][-1]
            assert len(step["lines"]) == step["text"].count("\n")
            named = {id for number in step["lines"] if number >= 0 for id in call["sets"][number]}
            assert named == set(call["nodes"])
        instructions = [line for line in kernel["asm"]["lines"] if line]
        last = [s for s in kernel["steps"] if "text" in s][-1]
        assert len(instructions) > 50
        assert all(last["lines"][line - 1] >= 0 for line in instructions)
        assert kernel["code_bytes"] > 100


def test_a_pass_that_changes_nothing_has_no_text(digits: Data):
    for kernel in digits["kernels"]:
        texts = [step["text"] for step in kernel["steps"] if "text" in step]
        assert all(a != b for a, b in zip(texts, texts[1:], strict=False))
        assert any(step.get("same") for step in kernel["steps"])


def test_without_a_run_there_are_no_times(digits: Data):
    assert all(call["us"] is None and call["percent_of_peak"] is None for call in digits["calls"])
    assert all(call["local"] is None and call["total"] is None for call in digits["calls"])
    assert all(call["flops"] > 0 for call in digits["calls"][:2])


def test_a_run_gives_times(monkeypatch: pytest.MonkeyPatch):
    limits = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
    monkeypatch.setattr("stepwell.tools.measure.calibrate.machine_limits", lambda: limits)
    data: Any = collect(DIGITS, PROFILED, feeds={"pictures": np.ones((3, 64), np.float32)})
    for call in data["calls"]:
        assert 0 < call["us"]["low"] <= call["us"]["median"] <= call["us"]["high"]
        assert call["percent_of_peak"] > 0
    assert data["calls"][0]["flops"] >= 3 * 2 * 64 * 192


def test_buffers_are_those_of_the_arena_and_calls_name_them(digits: Data):
    assert [b["bytes"] for b in digits["buffers"]] == [192 * 4, 10 * 4]
    assert [call["arena"] for call in digits["calls"]] == [["b0"], ["b0", "b1"], ["b1"]]
    assert all(b["from"] <= b["to"] and b["offset"] >= 0 for b in digits["buffers"])


def test_a_node_that_is_gone_says_after_which_pass(tmp_path: Path):
    path = model_of(tmp_path, "g (float[2,8] x) => (float[2,8] y) { a = Identity(x) b = Relu(a) y = Exp(b) }")
    data: Any = collect(path, PROFILED, run=False)
    notes = {node["op"]: node["note"] for node in data["nodes"]}
    assert notes["Identity"].startswith("no kernel: gone after ")
    assert notes["Relu"] == notes["Exp"] == ""
    assert data["nodes"][0]["module"] == "block.0"
    assert [item["name"] for item in data["drawing"]["folded"]["items"]] == ["block/0", "/block.1/Exp_2"]


def test_nodes_have_the_layout_that_they_are_stored_in(tmp_path: Path):
    body = "a = Conv<pads=[1,1,1,1]>(x, w) b = Relu(a) c = Conv<pads=[1,1,1,1]>(b, v) y = Flatten(c)"
    proto = onnx_model(f"g (float[1,16,8,8] x) => (float[1,1280] y) {{ {body} }}")
    for name, shape in (("w", (20, 16, 3, 3)), ("v", (20, 20, 3, 3))):
        proto.graph.initializer.append(numpy_helper.from_array(np.ones(shape, np.float32), name))
    path = written(tmp_path / "m.onnx", proto)
    data: Any = collect(path, CompileOptions(profile=True, mcpu="x86-64-v3"), run=False)
    layouts = {node["op"]: node["layout"] for node in data["nodes"]}
    assert layouts["Relu"] == "NCHW8c" and layouts["Flatten"] == ""


def test_calls_have_the_backend_that_runs_them(tmp_path: Path):
    path = model_of(tmp_path, "g (float[2,8] x) => (float[2,8] y) { a = Relu(x) b = Softmax(a) y = Exp(b) }")
    options = CompileOptions(profile=True, backends=("reference",))
    data: Any = collect(path, options, run=False)
    assert {call["backend"] for call in data["calls"]} == {"reference"}
    data = collect(path, PROFILED, run=False)
    assert {call["backend"] for call in data["calls"]} == {"native"}


def test_equal_kernels_are_collected_once_and_lines_name_the_nodes_of_each_call(tmp_path: Path):
    inputs, body = "float[4,8] x, float[8,8] w", "a = MatMul(x, w) b = Relu(a) c = MatMul(b, w) y = Relu(c)"
    path = model_of(tmp_path, f"g ({inputs}) => (float[4,8] y) {{ {body} }}")
    data: Any = collect(path, PROFILED, run=False)
    shared = [kernel for kernel in data["kernels"] if len(kernel["calls"]) == 2]
    assert shared
    for kernel in shared:
        first, second = (c for c in data["calls"] if c["id"] in kernel["calls"])
        assert not set(first["nodes"]) & set(second["nodes"])
        for call in (first, second):
            assert {id for nodes in call["sets"] for id in nodes} == set(call["nodes"])


@whole
def test_workers_collect_the_same_as_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from stepwell.tools.explore import kernels

    data: list[Any] = []
    asked: list[str] = []
    ask = kernels.Child.ask
    monkeypatch.setattr(kernels.Child, "ask", lambda *given: asked.append("") or ask(*given))
    for least in (10**9, 0):
        monkeypatch.setattr(kernels, "COMPILER", type("Costs", (), {"worker_pays": least}))
        data.append(collect(DIGITS, CompileOptions(profile=True, processes=4), run=False))
        assert bool(asked) == (least == 0)
    for here, there in zip(*(each["kernels"] for each in data), strict=True):
        for kernel in (here, there):
            for step in kernel["steps"]:
                del step["ms"]
        assert here == there


def test_lines_change_no_code():
    module = lower_to(DIGITS, CompileOptions(), "llvm").module
    texts = [emit_llvm(module, lines=lines) for lines in (None, printed_lines(module)[1])]
    plain, lined = (emit_assembly(text, host_target(), optimize=False) for text in texts)
    code = [line for line in located(plain).text.splitlines() if not line.startswith("\t.")]
    assert "\t.loc\t" in lined and "\t.loc\t" not in plain
    assert code == [line for line in located(lined).text.splitlines() if not line.startswith("\t.")]


def test_the_cache_has_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    data: Any = collect(DIGITS, PROFILED, run=False)
    code, _ = KernelCache().load(data["kernels"][0]["symbol"]) or (b"", {})
    assert code and b"debug_line" not in code


def test_the_command_writes_data_and_says_how_to_repeat_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    options = ["--no-run", "--opt-level", "1", "--input-shape", "pictures=2x64"]
    assert cli.main(["explore", str(DIGITS), "--format", "json", *options]) == 0
    data = json.loads(Path("digits.json").read_text())
    assert data["command"] == (
        f"stepwell explore {DIGITS} --format json --no-run --opt-level 1 --input-shape pictures=2x64"
    )
    assert data["values"][0]["shape"] == [2, 64]


def test_an_artifact_holds_no_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "m.stepwell").write_bytes(b"")
    error = shown_error(capsys, cli.main, "explore", tmp_path / "m.stepwell")
    assert error.startswith("error[no-source]: an artifact holds no IR")
