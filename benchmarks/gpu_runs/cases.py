"""Cases of `benchmarks.gpu`: an artifact, the inputs to draw, and a sample of the outputs, by a seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

INDEX = "cases.json"
_SAMPLES = 4096


@dataclass(frozen=True)
class Case:
    """A model for an architecture, as it was prepared."""

    key: str
    arch: str
    artifact: str
    """The name of the file; empty where the model was refused."""
    shapes: Sequence[Sequence[int]]
    dtypes: Sequence[str]
    seed: int
    error: str
    """The reason for which there is no artifact."""
    nbytes: int
    multiply_adds: int = 0
    """Products of a single kernel; 0 where they are not counted."""

    @staticmethod
    def read_all(folder: Path) -> list[Case]:
        """The cases of a folder; none where nothing was prepared."""
        index = folder / INDEX
        rows: list[dict[str, Any]] = json.loads(index.read_text()) if index.exists() else []
        return [Case(**row) for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """The case as JSON."""
        return asdict(self)

    def inputs(self) -> list[Any]:
        """The inputs, the same on each machine."""
        rng = np.random.default_rng(self.seed)
        return [
            rng.standard_normal(tuple(shape), np.float32)
            if dtype == "float32"
            else rng.integers(0, 100, tuple(shape)).astype(dtype)
            for shape, dtype in zip(self.shapes, self.dtypes, strict=True)
        ]

    @property
    def expected(self) -> str:
        """The name of the file with samples of outputs."""
        return f"{self.key}.npz"


def sampled(outputs: Sequence[Any]) -> dict[str, Any]:
    """Elements of outputs at places that a seed chooses, with the shapes."""
    found: dict[str, Any] = {}
    for number, output in enumerate(outputs):
        flat = np.asarray(output).ravel()
        places = np.random.default_rng(number).integers(0, max(flat.size, 1), min(_SAMPLES, flat.size))
        found[f"shape{number}"] = np.array(np.shape(output), np.int64)
        found[f"sample{number}"] = flat[places]
    return found


def largest_error(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """The largest difference of samples by the largest number of each output; infinite for another shape."""
    worst = 0.0
    for name, wanted in expected.items():
        got = found.get(name)
        if got is None or got.shape != wanted.shape or (name.startswith("shape") and (got != wanted).any()):
            return float("inf")
        if name.startswith("sample") and got.size:
            if (np.isnan(got) != np.isnan(wanted)).any():
                return float("inf")
            scale = max(float(np.nanmax(np.abs(wanted))), 1e-30)
            worst = max(worst, float(np.nanmax(np.abs(got.astype(np.float64) - wanted))) / scale)
    return worst
