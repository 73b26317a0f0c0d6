"""Overlays, the format of Model Explorer, and the explorer from Python."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.explore.overlays import read_overlay
from stepwell.tools.measure.calibrate import MachineLimits
from tests.commands import written
from tests.onnx_models import onnx_model


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with named nodes in an empty folder, on a machine whose limits are known."""
    limits = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
    monkeypatch.setattr("stepwell.tools.measure.calibrate.machine_limits", lambda: limits)
    monkeypatch.chdir(tmp_path)
    proto = onnx_model("g (float[2,8] x) => (float[2,8] y) { a = Relu(x) y = Softmax <axis=1> (a) }")
    proto.graph.node[0].name, proto.graph.node[1].name = "block.0/act", "block.0/<soft>"
    return written(tmp_path / "m.onnx", proto)


def test_an_overlay_is_in_the_data_and_names_of_no_node_are_counted(
    model: Path, capsys: pytest.CaptureFixture[str]
):
    overlay = {"name": "error", "unit": "%", "values": {"block.0/act": 0.5, "gone": 1, "lost": "x"}}
    written(model.with_name("o.json"), json.dumps(overlay))
    assert cli.main(["explore", "m.onnx", "--no-run", "--format", "json", "--overlay", "o.json"]) == 0
    assert json.loads(Path("m.json").read_text())["overlays"] == [overlay]
    assert "warning: o.json: the model has no node of 2 of its names" in capsys.readouterr().err


def test_a_profile_of_onnx_runtime_is_an_overlay(tmp_path: Path):
    events = [{"cat": "Node", "name": f"conv{i}_kernel_time", "dur": 10 + i} for i in range(2)]
    profile = written(tmp_path / "p.json", json.dumps([*events, {"name": "load", "dur": 3}]))
    values = {"conv0": 10.0, "conv1": 11.0}
    assert read_overlay(profile) == {"name": "onnxruntime", "unit": "µs", "values": values}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("3", "expected"),
        ('[1, {"name": "n_kernel_time", "dur": NaN}]', "found a list without times of nodes"),
        ('{"name": "a", "unit": "", "values": {"": null}}', "the value of node '' is neither number"),
        ('{"name": "a", "unit": "", "values": [1]}', "expected"),
        (
            '{"name": "a", "unit": "", "values": {"n": [1]}}',
            "the value of node 'n' is neither number nor text",
        ),
        (
            '{"name": "a", "unit": "", "values": {"n": NaN}}',
            "the value of node 'n' is neither number nor text",
        ),
    ],
)
def test_a_bad_overlay_is_refused(tmp_path: Path, text: str, message: str):
    with pytest.raises(StepwellError, match=message) as caught:
        read_overlay(written(tmp_path / "o.json", text))
    assert caught.value.code == "bad-data"


def test_model_explorer_gets_nodes_edges_and_types(model: Path):
    assert cli.main(["explore", model.name, "--no-run", "--format", "model-explorer"]) == 0
    collection = json.loads(Path("m.json").read_text())
    (graph,) = collection["graphs"]
    assert [(node["id"], node["label"], node["namespace"]) for node in graph["nodes"]] == [
        ("n0", "Relu", "block/0"), ("n1", "Softmax", "block/0")
    ]  # fmt: skip
    (edge,) = graph["nodes"][1]["incomingEdges"]
    assert edge["sourceNodeId"] == "n0" and edge["targetNodeInputId"] == "0"
    outputs = graph["nodes"][0]["outputsMetadata"]
    assert outputs[0]["id"] == edge["sourceNodeOutputId"]
    assert {"key": "tensor_shape", "value": "float32[2, 8]"} in outputs[0]["attrs"]


def test_a_page_in_python_has_the_data_and_a_frame_without_rights(model: Path):
    page = stepwell.explore(model, {"x": np.ones((2, 8), np.float32)}, opt_level=1)
    data: Any = page.data
    assert data["calls"][0]["us"]["median"] > 0 and data["peak"]["gflops"] > 0
    page.save("page.html")
    html = page._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert html.startswith('<iframe sandbox="allow-scripts" ')
    assert unescape(html.split('srcdoc="')[1].removesuffix('"></iframe>')) == Path("page.html").read_text()


def test_a_compiled_model_is_a_table_in_a_notebook(model: Path):
    html = stepwell.compile(model)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<tr><th>input x</th><td>float32[2, 8]</td></tr>" in html and "<th>target</th>" in html
