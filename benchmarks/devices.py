"""
Times of devices that need no GPU, `python -m benchmarks.devices --json F`: compilations, calls, copies.

Figures of a GPU are none of these: `gpu-interpreter`, PoCL and lavapipe run on the CPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import stepwell as sw
from stepwell.runtime.devices.moved import device_parts
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.devices.table import devices

ROOT = Path(__file__).resolve().parents[1]
_RUNS = 5
_INTERPRETERS = ("gpu-interpreter", "ptx-interpreter")
"""Devices that are no kinds of targets."""


def seconds(call: Callable[[], object], runs: int = _RUNS) -> float:
    """The median time of a call."""
    times: list[float] = []
    for _ in range(runs):
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return median(times)


def measured(path: Path, kind: str, rows: int) -> dict[str, object]:
    """Compile time, first call, later calls, and what is copied, of a model on a device."""
    target = {"device": kind} if kind in _INTERPRETERS else {"target": kind}
    begin = perf_counter()
    model = sw.compile(path, use_cache=False, **target)  # pyright: ignore[reportArgumentType]
    compiled = perf_counter() - begin
    x = np.random.default_rng(0).standard_normal((rows, 64), np.float32)
    begin = perf_counter()
    model(x)
    first = perf_counter() - begin
    with timed_launches() as times:
        model(x)
    return {
        "device": kind,
        "rows": rows,
        "compile s": round(compiled, 3),
        "first call s": round(first, 3),
        "call ms": round(1e3 * seconds(lambda: model(x)), 3),
        "launches": sum(times.launches.values()),
        "copied bytes": times.copied_bytes,
        "part bytes": sum(len(part.to_bytes()) for part in device_parts(model.image)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a line for each device and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(arguments)
    kinds = [info.kind for info in devices()[0] if info.kind != "npu"]
    rows = [measured(ROOT / "examples/digits.onnx", kind, n) for kind in kinds for n in (1, 64)]
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
