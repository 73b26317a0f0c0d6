"""The time of `stepwell quantize`, with an empty cache of kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.low_precision.measuring import Measuring
from benchmarks.zoo import F32_MODELS, model_path
from stepwell.runtime.environment import CACHE

_MODEL = "resnet18"


def quantizing_figures(how: Measuring) -> Iterator[Figure]:
    """A calibration of 8 samples, and 64 with a budget."""
    for count, options, bound in ((8, (), 10.0), (64, ("--accuracy-drop", "10dB", "--metric", "sqnr"), 60.0)):
        what, path = f"quantize {_MODEL}, {count} samples {' '.join(options)}".strip(), model_path(_MODEL)
        if path is None:
            why = f"STEPWELL_MODELS names no folder with {_MODEL}"
            yield skipped(what, why, f"<= {bound:.0f} s")
            continue
        seconds, name = _command(how, path, count, options)
        yield judged(what, f"{seconds:.1f} {name}", f"<= {bound:.0f} s", seconds <= bound)


def _command(how: Measuring, path: Path, count: int, options: tuple[str, ...]) -> tuple[float, str]:
    """The seconds of the command: of a clock, or of processors."""
    feeds = [F32_MODELS[_MODEL].feeds(seed) for seed in range(count)]
    data = how.folder / f"{count}.npz"
    arrays: dict[str, Any] = {name: np.concatenate([feed[name] for feed in feeds]) for name in feeds[0]}
    np.savez(data, **arrays)
    environment = {**os.environ, CACHE.name: str(how.folder / f"cache-{count}")}
    words = ["quantize", str(path), "--data", str(data), "-o", str(how.folder / "quantized.onnx"), *options]
    begin, before = perf_counter(), _processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "stepwell.tools.cli", *words], env=environment, check=True, capture_output=True
    )
    if how.clock is process_time:
        return _processor_seconds() - before, "processor seconds"
    return perf_counter() - begin, "s"


def _processor_seconds() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
