"""`stepwell trace`: spans of a compilation and of calls nest, and are those that the profile adds up."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.passes.trace_events import TraceEvents
from stepwell.passes.trace_format import trace_text
from stepwell.tools import cli
from stepwell.tools.measure import calibrate
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.measure.trace import traced
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model

_NET = """g (float[512, 64] x, float[64, 512] w) => (float[512, 512] y) {
    [product] h = MatMul(x, w)
    [activation] r = Relu(h)
    [shares] y = Softmax(r)
}"""
LIMITS = MachineLimits({1: 100.0, 2: 200.0}, {1: 10.0, 2: 10.0}, {1: 40.0, 2: 80.0})


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(calibrate, "_measure", lambda: LIMITS)
    return written(tmp_path / "net.onnx", onnx_model(_NET))


def trace_of(net: Path, *options: str) -> list[dict[str, Any]]:
    path = net.with_suffix(".json")
    assert cli.main(["trace", str(net), "-o", str(path), "--threads", "2", *options]) == 0
    return json.loads(path.read_text())["traceEvents"]


def by_kind(events: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("cat") == kind]


def expect_nested(events: Iterable[dict[str, Any]]) -> None:
    """Require that spans of a thread do not overlap, but for those inside of others."""
    threads: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["ts"] >= 0
            span = round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)  # nanoseconds
            threads.setdefault((event["pid"], event["tid"]), []).append(span)
    for spans in threads.values():
        around: list[float] = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while around and around[-1] <= begin:
                around.pop()
            assert not around or end <= around[-1]
            around.append(end)


def test_overlaps_are_found() -> None:
    event = {"ph": "X", "pid": 1, "tid": 0}
    expect_nested([event | {"ts": 0, "dur": 3}, event | {"ts": 1, "dur": 2}, event | {"ts": 3, "dur": 1}])
    with pytest.raises(AssertionError):
        expect_nested([event | {"ts": 0, "dur": 3}, event | {"ts": 1, "dur": 3}])


def test_the_command(net: Path) -> None:
    events = trace_of(net, "--runs", "2")
    expect_nested(events)
    assert min(event["ts"] for event in events) == 0
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"compile", "run"}
    levels = [event["name"] for event in by_kind(events, "level")]
    assert levels[0] == "import" and {"model to graph", "graph", "kernels", "main"} <= set(levels)
    assert "fuse-ops" in [event["name"] for event in by_kind(events, "pass")]
    compiled, called = ([e for e in by_kind(events, "kernel") if e["pid"] == pid] for pid in (1, 2))
    assert len(compiled) == 2 and len(called) == 2 * 2 and len(by_kind(events, "run")) == 2
    assert {tuple(event["args"]["nodes"]) for event in called} == {("product", "activation"), ("shares",)}
    assert all(event["args"]["GFLOP/s"] > 0 and "percent of peak" in event["args"] for event in called)
    steps = {event["name"] for event in by_kind(events, "step")}
    assert steps == {"emit_llvm", "machine code"}
    memory = [event["args"] for event in events if event["ph"] == "C" and event["pid"] == 2]
    assert memory[0]["arena"] > 0 and memory[0]["RSS"] > 1e6
    arrows = by_kind(events, "arrow")
    assert sorted(event["ph"] for event in arrows) == ["f", "f", "s", "s"]
    for end in (event for event in arrows if event["ph"] == "f"):
        (start,) = (event for event in arrows if event["ph"] == "s" and event["id"] == end["id"])
        assert start["pid"] == 1 and end["pid"] == 2 and start["ts"] < end["ts"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="chunks are recorded on Linux")
def test_chunks_are_within_their_kernels(net: Path) -> None:
    model = stepwell.compile(net, profile=True, threads=2)
    x, w = (np.ones(shape, np.float32) for shape in ((512, 64), (64, 512)))
    (run,) = traced(model, {"x": x, "w": w}, 1, LIMITS).runs
    symbols = [call.symbol for call in model.image.main.timed]
    spans = {symbols[call.index]: (call.begin, call.end) for call in run.calls}
    assert {chunk.kernel for chunk in run.chunks} == set(symbols)
    for chunk in run.chunks:
        begin, end = spans[chunk.kernel]
        assert begin <= chunk.begin <= chunk.end <= end


def test_kernels_add_up_to_the_profile(net: Path) -> None:
    model = stepwell.compile(net, profile=True, threads=2)
    x, w = (np.ones(shape, np.float32) for shape in ((512, 64), (64, 512)))
    runs = traced(model, {"x": x, "w": w}, 3, LIMITS)
    assert model.kernel_times is not None
    spans = sum(call.end - call.begin for call in runs.runs[-1].calls)
    assert spans == pytest.approx(1e9 * model.kernel_times.seconds().sum(), rel=0.01)
    assert spans <= runs.runs[-1].end - runs.runs[-1].begin


def test_a_kernel_in_a_loop_has_its_last_span_and_all_its_time() -> None:
    body = """g (int64 n, float[8, 8] x) => (float[8, 8] y) <bool go = {1}> {
        y = Loop(n, go, x) <body = b (int64 i, bool c, float[8, 8] a) => (bool d, float[8, 8] s) {
            d = Identity(c)
            s = MatMul(a, a)
        }>
    }"""
    model = stepwell.compile(onnx_model(body), profile=True, threads=1)
    runs = traced(model, {"n": np.array(5), "x": np.eye(8, dtype=np.float32)}, 1, LIMITS)
    (call,) = (call for call in runs.runs[0].calls if call.times == 5)
    assert call.end - call.begin < call.total_ns
    events = json.loads(trace_text(runs.events({})))["traceEvents"]
    assert [event["args"]["times"] for event in events if "times" in event.get("args", {})] == [5]
    expect_nested(events)


@pytest.mark.usefixtures("kernel_workers")
def test_workers_have_threads_of_their_own(net: Path) -> None:
    trace = TraceEvents()
    with stepwell.PassContext(instruments=[trace]):
        stepwell.compile(net, use_cache=False, processes=2)
    trace.save(path := net.with_suffix(".json"))
    events = json.loads(path.read_text())["traceEvents"]
    expect_nested(events)
    kernels = by_kind(events, "kernel")
    assert len(kernels) == 2 and {event["tid"] for event in kernels} <= {0, 1}
    for kernel in kernels:
        inside = [e for e in by_kind(events, "pass") if e["tid"] == kernel["tid"] and e["ts"] > kernel["ts"]]
        assert "vectorize" in [event["name"] for event in inside] and kernel["args"]["nodes"]
    assert {event["args"]["name"] for event in events if event["name"] == "thread_name"} <= {
        "compiler",
        "worker 1",
    }


def test_cached_kernels_are_points_in_time(net: Path) -> None:
    trace_of(net)
    events = trace_of(net)
    cached = [event["name"] for event in events if event["ph"] == "i"]
    assert len(cached) == 2 and all(name.startswith("cached k_") for name in cached)
    assert not [event for event in by_kind(events, "kernel") if event["pid"] == 1]


def test_nothing_changes_in_code_that_is_not_traced(net: Path) -> None:
    """Kernels are the same, timed or not; a pool that records is other code than one that does not."""
    plain, timed = (stepwell.compile(net, profile=profile) for profile in (False, True))
    assert timed.image.effort["cached kernels"] == timed.image.summary["kernels"] == 2
    pools = [model.variant.pool for model in (plain, timed)]
    assert pools[0] != pools[1] or not sys.platform.startswith("linux")
    with stepwell.PassContext(instruments=[TraceEvents()]):
        traced = stepwell.compile(net)
    assert traced.variant == plain.variant


def test_bad_usage(net: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stepwell.compile(net).save(tmp_path / "m.stepwell")
    assert "unknown-file-type" in shown_error(capsys, cli.main, "trace", tmp_path / "m.stepwell")
    assert "cannot-write" in shown_error(capsys, cli.main, "trace", net, "-o", tmp_path / "no" / "t.json")


def test_the_facts(net: Path) -> None:
    path = net.with_name("facts.json")
    events = trace_of(net, "--runs", "2", "--json", str(path))
    facts = json.loads(path.read_text())
    assert list(facts)[0] == "schema" and facts["schema"] == "stepwell-trace/1"
    assert facts["events"] == len(events) and facts["threads"] == 2 and len(facts["runs"]) == 2
    for run in facts["runs"]:
        assert 0 < run["kernel microseconds"] <= run["microseconds"]


def test_a_model_without_kernels(tmp_path: Path, net: Path) -> None:
    text = "g (float[4] x) => (float[4] y) { y = Identity(x) }"
    events = trace_of(written(tmp_path / "same.onnx", onnx_model(text)), "--runs", "1")
    assert len(by_kind(events, "run")) == 1 and not by_kind(events, "kernel")
