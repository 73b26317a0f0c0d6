"""The time on the host, as `run`, `run --profile`, `bench` and `inspect` say it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.host import HostFrame
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.measure.host_time import described, milliseconds_on_host
from stepwell.tools.measure.profile import profile, profile_text
from tests.commands import written
from tests.onnx_models import onnx_model

LISTS = """g (float[6, 8] x) => (float[P, 8] y) {
    h = Relu(x)
    at = Constant<value = int64 {0}>()
    parts = SplitToSequence(h)
    y = SequenceAt(parts, at)
}"""
X = np.ones((6, 8), np.float32)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = onnx_model(LISTS)
    for node in model.graph.node:
        node.name = f"the {node.output[0]}"
    return written(tmp_path_factory.mktemp("host") / "m.onnx", model)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host call takes 3 ms longer."""
    run = HostFrame.__init__

    def init(self: HostFrame, callees: Sequence[object], functions: Sequence[object], objects: int) -> None:
        def slowed(function: object) -> object:
            def call(inputs: Sequence[object], outputs: list[object]) -> None:
                time.sleep(0.003)
                function(inputs, outputs)  # pyright: ignore

            return call

        run(self, callees, [slowed(function) for function in functions], objects)  # pyright: ignore

    monkeypatch.setattr(HostFrame, "__init__", init)


@pytest.mark.usefixtures("slow")
def test_each_call_has_the_times_of_its_host_calls(file: Path) -> None:
    model = stepwell.compile(file)
    assert model.host_seconds == ()
    for _ in range(2):
        begin = time.perf_counter()
        model(X)
        total = time.perf_counter() - begin
        assert len(model.host_seconds) == 2 and min(model.host_seconds) >= 0.003
        assert sum(model.host_seconds) <= total
    on_host = milliseconds_on_host(model)
    assert [*on_host.values()] == sorted(on_host.values(), reverse=True)
    assert {re.sub(r" at .*node", ":", name) for name in on_host} == {
        'split_to_sequence: "the parts"',
        'sequence_at: "the y"',
    }


def test_a_model_without_host_calls_has_none(file: Path) -> None:
    model = stepwell.compile(onnx_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"))
    model(np.ones(4, np.float32))
    assert model.host_seconds == () and not milliseconds_on_host(model)


def test_what_takes_longest_is_named() -> None:
    times = {"a": 30.0, "b": 20.0, "c": 2.0, "d": 0.1}
    assert described(times, 58.14) == "52.1 ms on the host of 58.1: a 30.0, b 20.0, c 2.0, and 1 more"
    assert described({"a": 1.0}, 4) == "1.0 ms on the host of 4.0: a 1.0"


def test_the_profile(file: Path) -> None:
    model: CompiledModel = stepwell.compile(file, profile=True, threads=1)
    limits = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
    text = profile_text(profile(model, {"x": X}, 3, limits), limits, 1)
    (row,) = [line for line in text.splitlines() if "the parts" in line]
    assert re.search(r"%\s+host +split_to_sequence: the parts$", row), row
    assert re.search(r"2 host calls, 1 threads; \d+\.\d ms on the host of \d+\.\d$", text, re.MULTILINE)


@pytest.mark.usefixtures("slow")
def test_the_commands(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(file)]) == 0
    (remark,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("remark:")]
    assert re.fullmatch(r'remark: \d+\.\d ms on the host of \d+\.\d: .*node "the (parts|y)" \d+\.\d', remark)
    assert cli.main(["bench", str(file), "--rounds", "1"]) == 0
    assert re.search(r"^m: \d+\.\d ms on the host of \d+\.\d: ", capsys.readouterr().out, re.MULTILINE)
    artifact = tmp_path / "m.stepwell"
    stepwell.compile(file).save(artifact)
    assert cli.main(["inspect", str(artifact)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [re.sub(r" at .*node", ":", line) for line in lines if line.startswith("on the host")] == [
        'on the host: split_to_sequence: "the parts"',
        'on the host: sequence_at: "the y"',
    ]


def test_little_time_on_the_host_is_no_remark(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepwell.tools.commands.run._MUCH", 1.1)
    assert cli.main(["run", str(file)]) == 0
    assert "remark:" not in capsys.readouterr().err
