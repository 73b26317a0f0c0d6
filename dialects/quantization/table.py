"""Calibration files: the statistics of a model's activations by key, as JSON to read, edit and compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from stepwell.dialects.quantization.json_files import VERSION, read_json
from stepwell.dialects.quantization.ranges import Statistics
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.json_values import as_int, as_list, as_mapping, as_size, as_text

FORMAT = "stepwell-calibration"
MAX_FILE_BYTES = 64 << 20
MAX_KEYS = 100_000
MAX_BINS = 65_536


@dataclass(frozen=True)
class CalibrationTable:
    """The statistics of activations by key, the hash of their model, and the number of samples."""

    statistics: Mapping[str, Statistics] = field(default_factory=dict[str, Statistics])
    model: str = ""
    samples: int = 0

    def of(self, key: str, where: object) -> Statistics:
        """The statistics of a key. Raises: StepwellError `bad-data` for one that is not there."""
        if (found := self.statistics.get(key)) is None:
            message = f"the calibration table has no statistics of {key!r}"
            help = f"{did_you_mean(key, self.statistics)}calibrate the model again"
            raise StepwellError("bad-data", where, message, help=help)
        return found

    def write(self, path: Path) -> None:
        """Write the table as JSON. Raises: StepwellError `cannot-write`."""
        values = {key: _json_of(each) for key, each in self.statistics.items()}
        head = {"format": FORMAT, "version": VERSION, "model": self.model, "samples": self.samples}
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(each)}" for key, each in values.items())
        text = json.dumps(head)[:-1] + f', "values": {{\n{lines}\n}}}}\n'
        write_text(path, text)


def read_table(path: Path) -> CalibrationTable:
    """A table from a file. Raises: StepwellError `no-file`, `bad-data`."""
    help = "`stepwell quantize MODEL --write-calibration F.json` writes one"
    return read_json(path, FORMAT, MAX_FILE_BYTES, "calibration file", _table, help)


def _table(about: Mapping[str, object]) -> CalibrationTable:
    values = as_mapping(about.get("values"))
    if len(values) > MAX_KEYS:
        raise ValueError(f"it has more than {MAX_KEYS} keys")
    statistics = {key: _statistics(key, as_mapping(each)) for key, each in values.items()}
    return CalibrationTable(statistics, as_text(about.get("model", "")), as_size(about.get("samples", 0)))


def _json_of(statistics: Statistics) -> dict[str, object]:
    found: dict[str, object] = {"min": statistics.min, "max": statistics.max, "mean": statistics.mean}
    return found | ({"counts": list(statistics.counts)} if statistics.counts else {})


def _statistics(key: str, about: Mapping[str, object]) -> Statistics:
    """The statistics of a key. Raises: TypeError, ValueError."""
    lo, hi = _number(about.get("min")), _number(about.get("max"))
    if lo > hi:
        raise ValueError(f"of {key!r} the minimum {lo:g} is above the maximum {hi:g}")
    counts = [as_int(each) for each in as_list(about.get("counts", []))]
    if len(counts) > MAX_BINS or min(counts, default=0) < 0:
        raise ValueError(f"of {key!r} the counts are more than {MAX_BINS}, or negative")
    return Statistics(lo, hi, _number(about.get("mean", 0.0)), tuple(counts))


def _number(value: object) -> float:
    """A finite number. Raises: TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    number = float(value)
    if not isfinite(number):
        raise ValueError("expected a finite number")
    return number
