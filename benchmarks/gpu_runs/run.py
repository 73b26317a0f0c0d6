"""Runs of prepared models on a GPU: outputs first, then times, until the time is up."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import stepwell as sw
from benchmarks.gpu_runs.cases import Case, key_of, largest_error, sampled
from benchmarks.gpu_runs.peers import missing
from benchmarks.gpu_runs.seeded import Restored, WrongDigest
from benchmarks.gpu_runs.times import measure
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.interleaved import geometric_mean

_MOST_ERROR = {"f32": 1e-4}
"""Of samples, by the largest number of an output: rounding of sums in another order is far below it."""
_MOST_ROUNDED = 5e-2
"""The same for products of rounded operands, whose error is reported."""
_PEERS = "peers"
_CEILINGS = ("copy", "matmul-4096")
"""The models whose rates others are shares of."""

Rows = dict[str, dict[str, Any]]


def run_all(
    folder: Path, device: str, minutes: float, only: str | None, to: Path | None, resume: Path | None
) -> int:
    """
    Run the cases of the best architecture that the device takes. Returns 1 if an output is wrong or none ran.

    Args: `resume` is a file of an earlier run, whose rows are kept.
    """
    end = perf_counter() + 60 * minutes
    rows: Rows = {}
    if resume is not None and resume.exists():
        rows = {row["case"]: row for row in json.loads(resume.read_text())}
    rows[_PEERS] = {"case": _PEERS, "missing": missing(device)}
    for line in rows[_PEERS]["missing"]:
        print(f"not measured: {line}", flush=True)
    cases = best_cases([case for case in Case.read_all(folder) if case.artifact], device)
    with tempfile.TemporaryDirectory() as made:
        files = Restored(folder, Path(made))
        for part in ("correctness", "latency"):
            if only in (None, part) and not _run_part(part, cases, files, device, rows, end, to):
                print("the time is up: --resume goes on")
                return _written(rows, to)
    _print_means(rows)
    return _written(rows, to)


def _run_part(
    part: str, cases: Sequence[Case], files: Restored, device: str, rows: Rows, end: float, to: Path | None
) -> bool:
    """Run a part of all cases that lack it; returns whether there was time for all."""
    for case in sorted(cases, key=lambda case: _order(case, rows)):
        row = rows.setdefault(case.key, {"case": case.key, "device": device})
        if part in row or "error" in row:
            continue
        if perf_counter() > end:
            return False
        _run(case, files, device, part, rows, end)
        print(", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
        _written(rows, to)
    return True


def best_cases(cases: Sequence[Case], device: str) -> list[Case]:
    """The cases of the newest architecture that a device takes; of the newest one where that is not known."""
    most = _newest(device)
    found: dict[tuple[str, int, str], Case] = {}
    for case in sorted(cases, key=lambda case: _number(case.arch)):
        if most is None or _number(case.arch) <= most:
            found[case.model, case.batch, case.precision] = case
    return list(found.values())


def _newest(device: str) -> int | None:
    """The architecture of a device as a number; None for an interpreter, or a device that is not here."""
    try:
        target = sw.device(device).info.target
    except StepwellError:
        return None
    return None if target is None else _number(str(target.attrs.get("arch", "")))


def _number(arch: str) -> int:
    return int(re.sub(r"\D", "", arch) or 0)


def _order(case: Case, rows: Rows) -> tuple[bool, float]:
    """The place of a case: ceilings first, then by the time of the first call, the slowest last."""
    return case.model not in _CEILINGS, float(rows.get(case.key, {}).get("first call s", 0))


def _written(rows: Rows, to: Path | None) -> int:
    """Write the rows; returns the exit code."""
    if to is not None:
        to.write_text(json.dumps(list(rows.values()), indent=1))
    ran = [row for row in rows.values() if "correctness" in row]
    return 0 if ran and all(row["correctness"] == "right" for row in ran) else 1


def _run(case: Case, files: Restored, device: str, part: str, rows: Rows, end: float) -> None:
    """Add the results of a part to the row of a case; an error of the device is a result."""
    row = rows[case.key]
    try:
        files.make_room()
        model = sw.load(files.file(case.artifact, ".stepwell")).on(device)
        if part == "correctness":
            _compare(case, files.stored, model, row)
            return
        onnx = None if _has_no_peer(rows) else files.file(case.onnx, ".onnx")
        row |= measure(case, model, onnx, device, end)
        _add_shares(case, row, rows)
    except StepwellError as error:
        row["error"] = f"{error.code}: {error.message}"
    except WrongDigest as error:
        row["error"] = str(error)


def _has_no_peer(rows: Rows) -> bool:
    return any(line.startswith("onnxruntime") for line in rows[_PEERS]["missing"])


def _compare(case: Case, folder: Path, model: Any, row: dict[str, Any]) -> None:
    """Compare the outputs of a call with those of the CPU."""
    inputs = case.arrays()
    begin = perf_counter()
    found = model(*inputs)
    row["first call s"] = round(perf_counter() - begin, 3)
    outputs = list(found) if isinstance(found, tuple | list) else [found]
    with np.load(folder / case.expected) as expected:
        error = largest_error(sampled(outputs), dict(expected))
    row["error of samples"] = error
    row["correctness"] = "right" if error <= _MOST_ERROR.get(case.precision, _MOST_ROUNDED) else "WRONG"


def _add_shares(case: Case, row: dict[str, Any], rows: Rows) -> None:
    """Add the shares of the rates of copies, and of large products in the same precision."""
    for name, rate, key in (
        ("share of copies", "GB/s of kernels", key_of("copy", 1, "f32", case.arch)),
        ("share of products", "GFLOP/s of kernels", key_of("matmul-4096", 1, case.precision, case.arch)),
    ):
        if (most := rows.get(key, {}).get(rate)) and rate in row:
            row[name] = round(row[rate] / most, 3)


def _print_means(rows: Rows) -> None:
    """Print the geometric mean of each ratio to a peer."""
    ratios: dict[str, list[float]] = {}
    for row in rows.values():
        for name, value in row.items():
            if name.startswith("ratio "):
                ratios.setdefault(name, []).append(float(value))
    for name, values in ratios.items():
        mean = geometric_mean(values)
        print(f"{name}: geometric mean {mean:.3f} of {len(values)} (above 1: ours is faster)")
