"""Calibration: the statistics of a model's activations over samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from xdsl.passes import ModulePass

from stepwell.dialects.quantization.ranges import BINS, Calibration, Statistics
from stepwell.dialects.quantization.table import CalibrationTable
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.tools.quantize.data import Feed
from stepwell.tools.quantize.source import Source, made_pass


def calibrated(
    source: Source, feeds: Sequence[Feed], calibration: Calibration, annotate: ModulePass, threads: int | None
) -> CalibrationTable:
    """
    The statistics of the activations that `annotate` observes: ranges, then histograms if they are needed.

    Raises: StepwellError `bad-data` for an activation that is no number.
    """
    model = source.compiled(source.level_1(annotate, made_pass("collect-statistics")), threads)
    ranges: dict[str, list[tuple[float, float, float]]] = {}
    for number, feed in enumerate(feeds):
        outputs = model.run(feed)
        for key in _keys(outputs, "min"):
            lo, hi, mean = (float(outputs[f"{kind} {key}"]) for kind in ("min", "max", "mean"))
            if not np.isfinite([lo, hi]).all():
                node = key.rpartition(":")[0]
                kind = "NaN" if np.isnan([lo, hi]).any() else "Inf"
                message = f'sample {number} makes {kind} before or in node "{node}"'
                raise StepwellError("bad-data", source.name, message, help="correct the sample, or the model")
            ranges.setdefault(key, []).append((lo, hi, mean))
    statistics = {key: _joined(rows) for key, rows in ranges.items()}
    table = CalibrationTable(statistics, source.hash, len(feeds))
    return _with_counts(source, feeds, table, annotate, threads) if calibration.needs_histogram else table


def _joined(rows: Sequence[tuple[float, float, float]]) -> Statistics:
    """The range and mean over all samples, from those of each."""
    lows, highs, means = zip(*rows, strict=True)
    return Statistics(min(lows), max(highs), float(np.mean(means)))


def _with_counts(
    source: Source, feeds: Sequence[Feed], table: CalibrationTable, annotate: ModulePass, threads: int | None
) -> CalibrationTable:
    """A table with histograms over the ranges that it has."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ranges.json"
        table.write(path)
        collect = made_pass("collect-statistics", of="histogram", table=str(path))
        program = source.level_1(annotate, collect)
    model = source.compiled(program, threads)
    counts: dict[str, Array] = {key: np.zeros(BINS, np.int64) for key in table.statistics}
    for feed in feeds:
        outputs = model.run(feed)
        for key in _keys(outputs, "counts"):
            counts[key] = np.add(counts[key], outputs[f"counts {key}"])
    found = {
        key: replace(each, counts=tuple(int(count) for count in counts[key]))
        for key, each in table.statistics.items()
    }
    return replace(table, statistics=found)


def _keys(outputs: Iterable[str], kind: str) -> list[str]:
    """The keys of observers among the outputs of a program."""
    return [name.removeprefix(f"{kind} ") for name in outputs if name.startswith(f"{kind} ")]
