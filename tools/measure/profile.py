"""`stepwell run --profile`: how long each kernel took, and how far that is from what the machine can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.timing import KernelTimes, work_of
from stepwell.tools.measure.calibrate import MachineLimits

MAX_NODES_CHARS = 70
_WARM_UP = 2
_NOTES = {
    "winograd": "operations of the direct convolution, of which it does less than half",
    "integer": "products of integers, against the peak of f32",
}


@dataclass(frozen=True)
class KernelProfile:
    """One kernel call of a model, the median over some runs."""

    kernel: str
    nodes: tuple[str, ...]
    microseconds: float
    share: float
    """Of the time of all kernels, in percent."""
    gflops: float
    """Arithmetic operations in 1e9 a second; exact for contractions, else one for each element."""
    gigabytes_per_second: float
    """What it reads and writes, each once."""
    percent_of_peak: float
    """
    The time that arithmetic or memory takes at least, whichever is more, of the time it took.

    Above 100 where an algorithm needs fewer operations (Winograd), a register holds more numbers (bytes), or
    data stay in a faster cache.
    """
    arithmetic: str
    """`winograd`: operations of the direct convolution; `integer`: the peak is that of f32; else empty."""


def times_of(model: CompiledModel) -> KernelTimes:
    """The timers of a model. Raises: StepwellError `no-profile` when it was compiled without them."""
    if model.kernel_times is None:
        raise StepwellError(
            "no-profile",
            None,
            "this model does not tell the times of its kernels",
            help="profile the .onnx file itself, or compile with profile=True",
        )
    return model.kernel_times


def profile(
    model: CompiledModel, feeds: Mapping[str, object], runs: int, limits: MachineLimits
) -> list[KernelProfile]:
    """
    Run a model and say what each kernel took, in the order of the calls.

    Raises: StepwellError `no-profile` for a model that was not compiled to tell its times.
    """
    times = times_of(model)
    inputs = [feeds[spec.name] for spec in model.interface.inputs]
    taken: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []
    for run in range(_WARM_UP + runs):
        times.clear()
        model(*inputs)
        if run >= _WARM_UP:
            taken.append(times.seconds())
    seconds = np.median(taken, axis=0)
    shapes = [np.asarray(value).shape for value in inputs]
    flops, moved = work_of(model.image.timed, model.interface.bind(shapes).values)
    most_bytes = np.array([limits.bandwidth(model.threads, size) for size in moved])
    least = np.maximum(flops / limits.flops(model.threads), moved / most_bytes)
    per_second = np.divide(1.0, seconds, out=np.zeros_like(seconds), where=seconds > 0)
    total = float(seconds.sum()) or 1.0
    return [
        KernelProfile(
            kernel.name,
            kernel.nodes,
            round(1e6 * float(seconds[i]), 3),
            round(100 * float(seconds[i]) / total, 2),
            round(float(flops[i] * per_second[i]) / 1e9, 2),
            round(float(moved[i] * per_second[i]) / 1e9, 2),
            round(100 * float(least[i] * per_second[i]), 1),
            kernel.arithmetic,
        )
        for i, kernel in enumerate(model.image.timed)
    ]


def profile_text(rows: Sequence[KernelProfile], limits: MachineLimits, threads: int) -> str:
    """A table for people, the longest kernels first."""
    lines = [f"{'us':>10} {'share':>6} {'GFLOP/s':>8} {'GB/s':>7} {'of peak':>8}  nodes"]
    for row in sorted(rows, key=lambda row: -row.microseconds):
        names = ", ".join(row.nodes) or row.kernel
        if row.arithmetic:
            names = f"{row.arithmetic}: {names}"
        if len(names) > MAX_NODES_CHARS:
            names = f"{names[: MAX_NODES_CHARS - 1]}…"
        lines.append(
            f"{row.microseconds:10.1f} {row.share:5.1f}% {row.gflops:8.1f} {row.gigabytes_per_second:7.1f}"
            f" {row.percent_of_peak:7.0f}%  {names}"
        )
    noted = {row.arithmetic for row in rows}
    lines += [f"{'':10}  {kind}: {note}" for kind, note in _NOTES.items() if kind in noted]
    total = sum(row.microseconds for row in rows)
    lines.append(f"{total:10.1f}  in {len(rows)} kernels, {threads} threads")
    peak = _peak(limits, threads)
    most = f"{peak['gflops']:.0f} GFLOP/s, {peak['memory_gbps']:.0f} GB/s in memory"
    lines.append(
        f"this machine can do {most}, {peak['cache_gbps']:.0f} GB/s in the cache (stepwell calibrate)"
    )
    return "\n".join(lines)


def profile_json(rows: Sequence[KernelProfile], limits: MachineLimits, threads: int) -> dict[str, object]:
    """The same as plain JSON values, in the order of the calls."""
    return {"threads": threads, "peak": _peak(limits, threads), "kernels": [asdict(row) for row in rows]}


def _peak(limits: MachineLimits, threads: int) -> dict[str, float]:
    in_cache, in_memory = limits.bandwidth(threads, 0), limits.bandwidth(threads, float("inf"))
    figures = {"gflops": limits.flops(threads), "memory_gbps": in_memory, "cache_gbps": in_cache}
    return {name: round(figure / 1e9, 1) for name, figure in figures.items()}
