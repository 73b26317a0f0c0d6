"""Runs of prepared models on a GPU: outputs first, then times, until the time is up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import stepwell as sw
from benchmarks.gpu_runs.cases import Case, largest_error, sampled
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.errors import StepwellError

_MOST_ERROR = 1e-4
"""Of samples, by the largest number of an output: rounding of sums in another order is far below it."""
_RUNS = 20
_SECONDS_A_CASE = 5.0


def run_all(
    folder: Path, device: str, minutes: float, only: str | None, to: Path | None, resume: Path | None
) -> int:
    """
    Run the cases of the best architecture that the device takes. Returns 1 if an output is wrong or none ran.

    Args: `resume` is a file of an earlier run, whose rows are kept.
    """
    end = perf_counter() + 60 * minutes
    rows: dict[str, dict[str, Any]] = {}
    if resume is not None and resume.exists():
        rows = {row["case"]: row for row in json.loads(resume.read_text())}
    cases = [case for case in Case.read_all(folder) if case.artifact]
    for part in ("correctness", "latency"):
        if only not in (None, part):
            continue
        for case in sorted(cases, key=lambda case: float(rows.get(case.key, {}).get("first call s", 0))):
            row = rows.setdefault(case.key, {"case": case.key, "device": device})
            if part in row or "error" in row:
                continue
            if perf_counter() > end:
                print("the time is up: --resume goes on")
                return _written(rows, to)
            _run(case, folder, device, part, row, end)
            print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
            _written(rows, to)
    return _written(rows, to)


def _written(rows: dict[str, dict[str, Any]], to: Path | None) -> int:
    """Write the rows; returns the exit code."""
    if to is not None:
        to.write_text(json.dumps(list(rows.values()), indent=1))
    ran = [row for row in rows.values() if "correctness" in row]
    return 0 if ran and all(row["correctness"] == "right" for row in ran) else 1


def _run(case: Case, folder: Path, device: str, part: str, row: dict[str, Any], end: float) -> None:
    """Add the results of a part to a row; an error of the device is a result."""
    try:
        model = sw.load(folder / case.artifact).on(device)
        inputs = case.inputs()
        if part == "correctness":
            begin = perf_counter()
            found: Any = model(*inputs)
            row["first call s"] = round(perf_counter() - begin, 3)
            outputs = list(found) if isinstance(found, tuple | list) else [found]
            with np.load(folder / case.expected) as expected:
                error = largest_error(sampled(outputs), dict(expected))
            row["error of samples"] = error
            row["correctness"] = "right" if error <= _MOST_ERROR else "WRONG"
        else:
            _measure(case, lambda: model(*inputs), row, end)
    except StepwellError as error:
        row["error"] = f"{error.code}: {error.message}"


def _measure(case: Case, call: Callable[[], object], row: dict[str, Any], end: float) -> None:
    """Times of calls, copies included, and of the kernels alone."""
    call()
    times: list[float] = []
    begin = perf_counter()
    while len(times) < _RUNS and perf_counter() < min(end, begin + _SECONDS_A_CASE):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    with timed_launches() as profile:
        call()
    kernels = sum(profile.seconds.values())
    row |= {
        "latency": "measured" if times else "not measured",
        "call ms": round(1e3 * median(times), 4) if times else None,
        "kernels ms": round(1e3 * kernels, 4),
        "launches": sum(profile.launches.values()),
        "copied bytes": profile.copied_bytes,
    }
    if case.multiply_adds and kernels:
        row["GFLOP/s of kernels"] = round(2e-9 * case.multiply_adds / kernels, 1)
