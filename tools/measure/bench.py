"""Measurement of a model on all engines: latency, ratios, compile time and the largest difference."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import Ratio, interleave, ratio
from stepwell.tools.check.differences import relative_difference
from stepwell.tools.inputs import made_up_inputs
from stepwell.tools.measure.host_time import milliseconds_on_host
from stepwell.tools.measure.peers import Engine, Runner, Stepwell, engine_named, onnxruntime_session
from stepwell.tools.report import readable_bytes

if TYPE_CHECKING:
    from stepwell.tools.driver.options import Start


UNTUNED = "untuned"
"""The name of our own code without databases among the peers."""


@dataclass(frozen=True)
class DeviceCall:
    """The kernels and copies of a call on a device, each of which was waited for."""

    milliseconds: float
    launches: int
    copied_bytes: int
    gflops: float
    """Operations per second, of the kernels alone."""

    def __str__(self) -> str:
        copied = f"{readable_bytes(self.copied_bytes)} copied in a call"
        return f"{self.launches} kernels in {self.milliseconds:.3f} ms, {self.gflops:.2f} GFLOP/s, {copied}"


@dataclass
class ModelResult:
    """The measurements of a model at a number of threads."""

    model: str
    threads: int
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    """Median latency by engine."""
    ratios: dict[str, Ratio] = field(default_factory=dict[str, Ratio])
    """The time of each peer over Stepwell's."""
    load_seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Time to compile or load, by engine."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Peers that could not run the model, and why."""
    difference: float = float("nan")
    """Largest difference from ONNX Runtime without optimizations, relative to the range of the output."""
    on_host: Mapping[str, float] = field(default_factory=dict[str, float])
    """Milliseconds of our last call outside of compiled code, by function and node."""
    on_device: DeviceCall | None = None
    """Our kernels on a device in one call; None without a device."""


def bench_model(
    path: Path,
    peers: Sequence[str],
    threads: int,
    rounds: int,
    shapes: Mapping[str, Sequence[int]],
    seed: int = 0,
    feeds: Mapping[str, Array] | None = None,
    start: Start = "full",
    tuning_db: Sequence[str] = (),
    target: str | None = None,
    device: str | None = None,
) -> ModelResult:
    """
    Measure a model: ours and every peer in turn, `rounds` times.

    Args: `shapes` fixes inputs that the model leaves open, for us; `feeds` are the inputs, made up when
    absent; with `start` `now` our time to load is that to the first answer; `tuning_db` are databases of
    tuned schedules, and then the peer `untuned` is our own code without them; `target` and `device` are those
    of our code.
    Raises: StepwellError when our own compilation fails; a peer's failure is recorded instead.
    """
    result = ModelResult(path.stem, threads)
    inputs = dict(feeds) if feeds is not None else _made_up(path, shapes, seed)
    ours, runners = Stepwell(shapes, start, tuning_db, target, device), dict[str, Runner]()
    for name in ("stepwell", *peers):
        begin = perf_counter()
        try:
            engine = ours if name == "stepwell" else _peer(name, shapes)
            runner = engine.load(path, threads, inputs)
            runner()
        except Exception as error:
            if name == "stepwell":
                raise
            # A peer may fail in any way of its own; that is a row of the table, not the end of the run.
            result.failed[name] = f"failed: {type(error).__name__}"
            continue
        runners[name] = runner
        result.load_seconds[name] = perf_counter() - begin
    assert ours.model is not None
    ours.model.wait()
    result.difference = _difference(path, inputs, runners["stepwell"]())
    latencies = interleave(runners, rounds)
    result.milliseconds = {name: 1e3 * latency.median for name, latency in latencies.items()}
    result.on_host = milliseconds_on_host(ours.model)
    result.on_device = _on_device(runners["stepwell"])
    result.ratios = {p: ratio(latencies[p], latencies["stepwell"]) for p in peers if p in latencies}
    return result


def _on_device(call: Runner) -> DeviceCall | None:
    """The kernels of a call; None where no device computes any."""
    with timed_launches() as times:
        call()
    if not times.launches:
        return None
    seconds = sum(times.seconds.values())
    rate = sum(times.operations.values()) / max(seconds, 1e-9) / 1e9
    return DeviceCall(1e3 * seconds, sum(times.launches.values()), times.copied_bytes, rate)


def _peer(name: str, shapes: Mapping[str, Sequence[int]]) -> Engine:
    """An engine to compare with. Raises: StepwellError."""
    return Stepwell(shapes, tuning_db=[os.devnull]) if name == UNTUNED else engine_named(name)


def _made_up(path: Path, shapes: Mapping[str, Sequence[int]], seed: int) -> dict[str, Array]:
    from stepwell.tools.driver.options import CompileOptions
    from stepwell.tools.driver.reading import interface_of

    return made_up_inputs(interface_of(path, CompileOptions()), "random", seed, shapes)


def _difference(path: Path, feeds: Mapping[str, Array], outputs: Sequence[Array]) -> float:
    try:
        reference = onnxruntime_session(path, 1, optimize=False)
    except ImportError:
        return float("nan")
    expected = reference.run(None, dict(feeds))
    pairs = zip(outputs, expected, strict=True)
    return max(relative_difference(found, np.asarray(wanted)) for found, wanted in pairs)
