"""`stepwell run --profile`: the times of kernels, their work, and what the machine can do."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli
from stepwell.tools.measure import calibrate
from stepwell.tools.measure.calibrate import MachineLimits, kept_limits, machine_limits
from stepwell.tools.measure.profile import profile, profile_json, profile_text
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
    path = tmp_path_factory.mktemp("profile") / "m.onnx"
    onnx.save(_named(model), path)  # pyright: ignore[reportUnknownMemberType]
    return path


def _named(model: onnx.ModelProto) -> onnx.ModelProto:
    for node in model.graph.node:
        node.name = f"the {node.output[0]}"
    return model


def test_every_kernel_with_its_nodes_and_work(file: Path) -> None:
    model = stepwell.compile(file, profile=True, threads=1)
    x = np.ones((8, 64), np.float32)
    assert np.array_equal(model(x), stepwell.compile(file, threads=1)(x))
    *rows, outside = profile(model, {"x": x}, 3, LIMITS)
    nodes = [name for row in rows for name in row.nodes]
    assert sorted(nodes) == ["the h", "the r", "the y", "the z"]
    first = next(kernel for kernel in model.image.main.timed if "the h" in kernel.nodes)
    assert first.flops.evaluate({"N": 8}) == 2 * 8 * 64 * 48 + 8 * 48  # the multiply-adds, and relu
    assert first.bytes.evaluate({"N": 8}) == 4 * (8 * 64 + 64 * 48 + 8 * 48)
    assert all(row.microseconds > 0 and row.gigabytes_per_second > 0 for row in rows)
    assert [(row.kind, row.name) for row in rows] == [("kernel", f"k{i}") for i in range(len(rows))]
    assert outside.kind == "outside" and outside.microseconds > 0
    assert sum(row.share for row in (*rows, outside)) == pytest.approx(100, abs=0.1)
    text = profile_text([*rows, outside], LIMITS, 1)
    assert "the h, the r" in text and f"the call: {len(rows)} kernels, 0 host calls, 1 threads" in text


def test_rows_add_up_to_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of kernels, a host call that takes long, memory whose size depends on data, and what is around them."""
    body = """g (float[N, 64] x, string[N] s) => (float[N, 64] y, string[N] t, int64[2, K] z) {
        y = Softmax(x)
        t = StringConcat(s, s)
        z = NonZero(x)
    }"""
    model = stepwell.compile(_named(onnx_model(body, opset=20)), profile=True, threads=1)
    x = np.random.default_rng(0).standard_normal((40, 64), np.float32)
    feeds = {"x": x, "s": np.array(["abc"] * 40, object)}
    calls: list[float] = []

    def clock() -> float:
        calls.append(perf_counter())
        return calls[-1]

    monkeypatch.setattr("stepwell.tools.measure.profile.perf_counter", clock)
    rows = profile(model, feeds, 1, LIMITS)
    assert {row.kind for row in rows} == {"kernel", "host", "allocation", "outside"}
    assert all(row.microseconds > 0 for row in rows)
    # The first two calls warm up, the third is measured: its begin and end.
    assert sum(row.microseconds for row in rows) == pytest.approx(1e6 * (calls[5] - calls[4]), abs=0.1)
    (host,) = [row for row in rows if row.kind == "host"]
    assert host.nodes == ("the t",) and "string_concat" in host.name and not host.kernel
    report = profile_json(rows, LIMITS, 1)
    assert report["microseconds"] == pytest.approx(sum(row.microseconds for row in rows), abs=0.01)
    text = profile_text(rows, LIMITS, 1)
    assert "1 host calls" in text and "memory whose size depends on data" in text


def test_a_call_in_a_loop_counts_all_its_rounds() -> None:
    body = """g (int64 n, float[8, 8] x) => (float[8, 8] y) <bool go = {1}> {
        y = Loop(n, go, x) <body = b (int64 i, bool c, float[8, 8] a) => (bool d, float[8, 8] s) {
            d = Identity(c)
            p = MatMul(a, a)
            s = Tanh(p)
        }>
    }"""
    model = stepwell.compile(onnx_model(body), profile=True, threads=1)
    times = model.kernel_times
    assert times is not None
    x = np.eye(8, dtype=np.float32)
    model(np.array(5), x)
    assert times.counts().max() == 5
    once = times.seconds()
    model(np.array(3), x)
    assert times.counts().max() == 5 + 3 and times.seconds().sum() > once.sum()
    times.clear()
    assert not times.counts().any() and not times.seconds().any()


def test_the_times_travel_with_an_artifact(file: Path, tmp_path: Path) -> None:
    stepwell.compile(file, profile=True).save(tmp_path / "m.stepwell")
    model = stepwell.load(tmp_path / "m.stepwell")
    model(np.ones((2, 64), np.float32))
    assert model.kernel_times is not None and (model.kernel_times.seconds() > 0).all()


def test_a_model_without_times_says_so(file: Path) -> None:
    model = stepwell.compile(file)
    assert model.kernel_times is None
    with pytest.raises(stepwell.StepwellError, match="does not record the times"):
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
    assert {"the h", "the r"} <= {name for row in report["rows"] for name in row["nodes"]}
    assert report["rows"][0]["name"] == "k0" and report["rows"][0]["kernel"].startswith("k_")
    assert [row["kind"] for row in report["rows"]] == ["kernel"] * (len(report["rows"]) - 1) + ["outside"]


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
