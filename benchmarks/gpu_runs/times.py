"""Times of calls on a device, ours and those of peers in turn, and of kernels alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import stepwell as sw
from benchmarks.gpu_runs.cases import Case
from benchmarks.gpu_runs.peers import Call, runtime_calls, torch_calls
from stepwell.runtime.devices.profiling import timed_launches

_ROUNDS = 20
_SECONDS = 5.0
"""For rounds of a case, after the first calls."""
_FIRST_SECONDS = 60.0
"""Left at least, or no twin is compiled: torch searches for as long."""


def measure(case: Case, model: Any, onnx: Path | None, device: str, end: float) -> dict[str, Any]:
    """
    The latencies of a case, ratios to peers, and the rates of its kernels.

    Args: `onnx` is the model for ONNX Runtime, None where that is not here.
    """
    inputs = case.arrays()
    row: dict[str, Any] = {}
    calls: dict[str, Call] = {
        "ours": lambda: model(*inputs),
        "ours resident": _resident(model, inputs, device),
    }
    ours = len(calls)
    try:
        for name, call in _peers(case, onnx, inputs, device, end):
            if (reason := _failure(call)) is None:
                calls[name] = call
            else:
                row[f"failed {name}"] = reason
    except Exception as error:  # a peer may fail in any way of its own
        row["failed peers"] = f"{type(error).__name__}: {str(error)[:200]}"
    for call in list(calls.values())[:ours]:
        call()
    times = _in_turn(calls, end)
    if times["ours"]:  # else the time was up, and a later run measures it
        row["latency"] = "measured"
    for name, seconds in times.items():
        if seconds:
            row[f"{name} ms"] = round(1e3 * median(seconds), 4)
    for name in list(calls)[ours:]:
        own = times["ours resident" if name.startswith("torch") else "ours"]
        if times[name] and own:
            row[f"ratio {name}"] = round(median(times[name]) / median(own), 4)
    return row | _kernels(calls["ours"])


def _failure(call: Call) -> str | None:
    """The error of a first call, which loads and compiles; None where it works."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def _resident(model: Any, inputs: list[Any], device: str) -> Call:
    """A call on arrays of the device, which are there already, as those of torch are."""
    on = sw.device(device)
    arrays = [on.array(each) for each in inputs]

    def call() -> object:
        found = model(*arrays, output="device")
        on.synchronize()
        return found

    return call


def _peers(
    case: Case, onnx: Path | None, inputs: list[Any], device: str, end: float
) -> Iterator[tuple[str, Call]]:
    """The calls of peers; a device that only this machine's CPU stands for has none."""
    if device.partition(":")[0] not in ("cuda", "cpu"):
        return
    if onnx is not None and case.precision == "f32":
        yield from runtime_calls(onnx, dict(zip(case.names, inputs, strict=True)), device)
    modes = ("eager", "compiled") if end - perf_counter() > _FIRST_SECONDS else ("eager",)
    yield from torch_calls(case.model, case.batch, case.precision, device, modes)


def _in_turn(calls: dict[str, Call], end: float) -> dict[str, list[float]]:
    """The seconds of calls, each once a round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    begin = perf_counter()
    for _ in range(_ROUNDS):
        if perf_counter() > min(end, begin + _SECONDS):
            break
        for name, call in calls.items():
            start = perf_counter()
            call()
            times[name].append(perf_counter() - start)
    return times


def _kernels(call: Call) -> dict[str, Any]:
    """The time of a call's kernels, and their rates."""
    with timed_launches() as profile:
        call()
    seconds = sum(profile.seconds.values())
    row: dict[str, Any] = {
        "kernels ms": round(1e3 * seconds, 4),
        "launches": sum(profile.launches.values()),
        "copied bytes": profile.copied_bytes,
    }
    for name, counts in (("GB/s", profile.array_bytes), ("GFLOP/s", profile.operations)):
        if counts and seconds:
            row[f"{name} of kernels"] = float(f"{sum(counts.values()) / seconds / 1e9:.4g}")
    return row
