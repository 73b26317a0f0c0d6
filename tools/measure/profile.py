"""
`stepwell run --profile`: the time of each part of a call, and the share of the machine's peak that kernels
reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from time import perf_counter

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.model_source import ProfileRow
from stepwell.runtime.timing import KernelTimes, work_of
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.measure.host_time import of_total
from stepwell.tools.report import shortened

MAX_NODES_CHARS = 70
_WARM_UP = 2
_NOTES = {
    "winograd": "operations of the direct convolution, of which it does less than half",
    "integer": "products of integers, against the peak of f32",
}
_KINDS = {
    "allocation": "memory whose size depends on data",
    "outside": "checks of inputs, memory of outputs, everything else",
}


def times_of(model: CompiledModel) -> KernelTimes:
    """The timers of a model. Raises: StepwellError `no-profile` when it was compiled without them."""
    if model.kernel_times is None:
        raise StepwellError(
            "no-profile",
            None,
            "this model does not record the times of its kernels",
            help="profile the .onnx file itself, or compile with profile=True",
        )
    return model.kernel_times


def profile(
    model: CompiledModel, feeds: Mapping[str, object], runs: int, limits: MachineLimits
) -> list[ProfileRow]:
    """
    Run a model and return the parts of a call: kernels and host calls in their order, then the others.

    Times are means over the middle half of the runs, so that they add up and slow runs do not count.
    Raises: StepwellError `no-profile` for a model that was not compiled to be timed.
    """
    times = times_of(model)
    inputs = [feeds[spec.name] for spec in model.interface.inputs]
    *seconds, allocation, total = _mean_times(model, times, inputs, runs)
    work = Work(model, inputs, limits)

    def shares(time: float) -> tuple[float, float]:
        return round(1e6 * time, 3), round(100 * time / total, 2)

    # A row for each timed call, then allocations and the rest of the time.
    rows: list[ProfileRow] = []
    for i, (call, time, count) in enumerate(
        zip(model.image.main.timed, seconds, times.counts(), strict=True)
    ):
        row = ProfileRow(
            call.kind,
            call.name,
            call.symbol,
            call.nodes,
            *shares(time),
            *work.rates(i, int(count) / time if time > 0 else 0.0),
            arithmetic=call.arithmetic,
        )
        rows.append(row)
    if model.image.main.slots:
        rows.append(ProfileRow("allocation", "", "", (), *shares(allocation)))
    return [*rows, ProfileRow("outside", "", "", (), *shares(total - sum(seconds) - allocation))]


class Work:
    """The work of each timed call, and the least time for it by the machine's limits."""

    def __init__(self, model: CompiledModel, inputs: Sequence[object], limits: MachineLimits):
        shapes = [np.asarray(value).shape for value in inputs]
        binding = model.interface.bind(shapes)
        self.arena_bytes = binding.arena_bytes
        self.flops, self.bytes = work_of(model.image.main.timed, binding.values)
        most_bytes = np.array([limits.bandwidth(model.threads, size) for size in self.bytes])
        self._least = np.maximum(self.flops / limits.flops(model.threads), self.bytes / most_bytes)

    def rates(self, call: int, per_second: float) -> tuple[float, float, float]:
        """GFLOP/s, GB/s, and percent of the peak of a call that runs as often in a second."""
        flops, moved, least = (float(each[call]) for each in (self.flops, self.bytes, self._least))
        return (
            round(flops * per_second / 1e9, 2),
            round(moved * per_second / 1e9, 2),
            round(100 * least * per_second, 1),
        )


def _mean_times(model: CompiledModel, times: KernelTimes, inputs: Sequence[object], runs: int) -> list[float]:
    """Seconds of each timed call, of allocations and of the whole call."""
    taken: list[list[float]] = []
    for _ in range(_WARM_UP + runs):
        times.clear()
        start = perf_counter()
        model(*inputs)
        total = perf_counter() - start
        taken.append([*times.seconds(), times.allocation, total])
    kept = sorted(taken[_WARM_UP:], key=lambda row: row[-1])[runs // 4 : runs - runs // 4]
    return [float(mean) for mean in np.mean(kept, axis=0)]


def profile_text(rows: Sequence[ProfileRow], limits: MachineLimits, threads: int) -> str:
    """The profile as a table of text, the longest times first."""
    lines = [f"{'us':>10} {'share':>6} {'GFLOP/s':>8} {'GB/s':>7} {'of peak':>8}  {'part':11} nodes"]
    for row in sorted(rows, key=lambda row: -row.microseconds):
        part = f"{row.kind} {row.name}" if row.kind == "kernel" else row.kind
        lines.append(f"{row.microseconds:10.1f} {row.share:5.1f}% {_rates(row)}  {part:11} {_described(row)}")
    noted = {row.arithmetic for row in rows}
    lines += [f"{'':10}  {kind}: {note}" for kind, note in _NOTES.items() if kind in noted]
    total = sum(row.microseconds for row in rows)
    kernels, host = (sum(row.kind == kind for row in rows) for kind in ("kernel", "host"))
    on_host = sum(row.microseconds for row in rows if row.kind == "host")
    share = f"; {of_total(1e-6 * on_host, 1e-6 * total)}" if host else ""
    lines.append(
        f"{total:10.1f}  in the call: {kernels} kernels, {host} host calls, {threads} threads{share}"
    )
    peak = _peak(limits, threads)
    most = f"{peak['gflops']:.0f} GFLOP/s, {peak['memory_gbps']:.0f} GB/s in memory"
    lines.append(
        f"this machine can do {most}, {peak['cache_gbps']:.0f} GB/s in the cache (stepwell calibrate)"
    )
    return "\n".join(lines)


def _rates(row: ProfileRow) -> str:
    if row.kind != "kernel":
        return f"{'':25}"
    return f"{row.gflops:8.1f} {row.gigabytes_per_second:7.1f} {row.percent_of_peak:7.0f}%"


def _described(row: ProfileRow) -> str:
    """The nodes of a row, else its kind and name, cut to the width of the table."""
    text = _KINDS.get(row.kind) or ", ".join(row.nodes) or row.name
    what = row.name.removeprefix("host.") if row.kind == "host" else row.arithmetic
    return shortened(f"{what}: {text}" if what else text, MAX_NODES_CHARS)


def profile_json(rows: Sequence[ProfileRow], limits: MachineLimits, threads: int) -> dict[str, object]:
    """The profile as plain JSON values, in the order of the calls."""
    total = round(sum(row.microseconds for row in rows), 3)
    peak = _peak(limits, threads)
    return {"threads": threads, "peak": peak, "microseconds": total, "rows": [asdict(row) for row in rows]}


def _peak(limits: MachineLimits, threads: int) -> dict[str, float]:
    in_cache, in_memory = limits.bandwidth(threads, 0), limits.bandwidth(threads, float("inf"))
    figures = {"gflops": limits.flops(threads), "memory_gbps": in_memory, "cache_gbps": in_cache}
    return {name: round(figure / 1e9, 1) for name, figure in figures.items()}
