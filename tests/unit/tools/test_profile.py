"""`stepwell run --profile`: the times of kernels, their work, and what the machine can do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.measure import calibrate
from stepwell.tools.measure.calibrate import MachineLimits, kept_limits, machine_limits
from stepwell.tools.measure.profile import profile, profile_text
from tests.onnx_models import onnx_model

LIMITS = MachineLimits({1: 100.0, 2: 200.0}, {1: 10.0, 2: 20.0}, {1: 40.0, 2: 80.0})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`softmax(relu(x @ w) @ v)`, the batch left open."""
    body = """g (float[N,64] x) => (float[N,32] y) {
        h = MatMul(x, w)
        r = Relu(h)
        z = MatMul(r, v)
        y = Softmax(z)
    }"""
    model = onnx_model(body)
    rng = np.random.default_rng(0)
    for name, shape in (("w", (64, 48)), ("v", (48, 32))):
        weight = rng.standard_normal(shape, np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weight, name))
    for node in model.graph.node:
        node.name = f"the {node.output[0]}"
    path = tmp_path_factory.mktemp("profile") / "m.onnx"
    onnx.save(model, path)  # pyright: ignore[reportUnknownMemberType]
    return path


def test_every_kernel_with_its_nodes_and_work(file: Path) -> None:
    model = stepwell.compile(file, profile=True, threads=1)
    x = np.ones((8, 64), np.float32)
    assert np.array_equal(model(x), stepwell.compile(file, threads=1)(x))
    rows = profile(model, {"x": x}, 3, LIMITS)
    nodes = [name for row in rows for name in row.nodes]
    assert sorted(nodes) == ["the h", "the r", "the y", "the z"]
    first = next(kernel for kernel in model.image.timed if "the h" in kernel.nodes)
    assert first.flops.evaluate({"N": 8}) == 2 * 8 * 64 * 48 + 8 * 48  # the multiply-adds, and relu
    assert first.bytes.evaluate({"N": 8}) == 4 * (8 * 64 + 64 * 48 + 8 * 48)
    assert all(row.microseconds > 0 and row.gigabytes_per_second > 0 for row in rows)
    assert sum(row.share for row in rows) == pytest.approx(100, abs=0.1)
    text = profile_text(rows, LIMITS, 1)
    assert "the h, the r" in text and f"in {len(rows)} kernels, 1 threads" in text


def test_the_times_travel_with_an_artifact(file: Path, tmp_path: Path) -> None:
    stepwell.compile(file, profile=True).save(tmp_path / "m.stepwell")
    model = stepwell.load(tmp_path / "m.stepwell")
    model(np.ones((2, 64), np.float32))
    assert model.kernel_times is not None and (model.kernel_times.seconds() > 0).all()


def test_a_model_without_times_says_so(file: Path) -> None:
    model = stepwell.compile(file)
    assert model.kernel_times is None
    with pytest.raises(stepwell.StepwellError, match="does not tell the times"):
        profile(model, {"x": np.ones((2, 64), np.float32)}, 1, LIMITS)


def test_the_command(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))  # another test may have left limits there
    monkeypatch.setattr(calibrate, "_measure", lambda: LIMITS)
    assert cli.main(["run", str(file), "--profile", "--threads", "1"]) == 0
    assert "the h, the r" in capsys.readouterr().out
    assert cli.main(["run", str(file), "--profile", "--json", "--threads", "1"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["peak"] == {"gflops": 100.0, "memory_gbps": 10.0, "cache_gbps": 40.0}
    assert {"the h", "the r"} <= {name for row in report["kernels"] for name in row["nodes"]}


def test_limits_are_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    assert cli.main(["calibrate", "--show"]) == 1 and kept_limits() is None
    monkeypatch.setattr(calibrate, "_measure", lambda: LIMITS)
    assert machine_limits() == LIMITS
    monkeypatch.delattr(calibrate, "_measure")
    assert machine_limits() == kept_limits() == LIMITS
    assert cli.main(["calibrate", "--show"]) == 0
    assert "100.0" in capsys.readouterr().out
    (tmp_path / "machine.json").write_text("{}")
    assert kept_limits() is None


def test_what_a_number_of_threads_can_do() -> None:
    assert LIMITS.flops(1) == 100e9 and LIMITS.flops(7) == 200e9
    assert LIMITS.bandwidth(1, 0) == 40e9
    assert LIMITS.bandwidth(1, 2 * host_target().l2_bytes) == 10e9


def test_the_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With short rounds: only that it measures something of the right kind."""
    monkeypatch.setattr(calibrate, "_ROUND_SECONDS", 1e-4)
    monkeypatch.setattr(calibrate, "_MIN_COPY_BYTES", 1 << 20)
    monkeypatch.setattr(calibrate, "_MAX_COPY_BYTES", 1 << 20)
    limits = calibrate._measure()  # pyright: ignore[reportPrivateUsage]
    assert 1 in limits.gflops
    for figures in (limits.gflops, limits.memory_gbps, limits.cache_gbps):
        assert all(figure > 0 for figure in figures.values())
