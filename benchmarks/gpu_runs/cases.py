"""Cases of `benchmarks.gpu`: an artifact, the inputs to draw, and a sample of the outputs, by seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_runs.draws import Draw

INDEX = "cases.json"
_SAMPLES = 2048


def key_of(model: str, batch: int, precision: str, arch: str) -> str:
    """The name of a case."""
    return f"{model}-{batch}-{precision}-{arch}"


@dataclass(frozen=True)
class Case:
    """A model at a batch size for an architecture and a precision, as it was prepared."""

    model: str
    """The name of the model; twins have it too."""
    batch: int
    arch: str
    precision: str
    inputs: Sequence[Mapping[str, Any]]
    """The recipes of the inputs."""
    artifact: str = ""
    """The name of the stored artifact; empty where the model was refused."""
    onnx: str = ""
    """The name of the stored model, for engines that compile it themselves."""
    names: Sequence[str] = ()
    """The names of its inputs."""
    error: str = ""
    """The reason for which there is no artifact."""
    nbytes: int = 0
    """The size of the artifact with its weights."""

    @property
    def key(self) -> str:
        """The name of the case among others."""
        return key_of(self.model, self.batch, self.precision, self.arch)

    @staticmethod
    def read_all(folder: Path) -> list[Case]:
        """The cases of a folder; none where nothing was prepared."""
        index = folder / INDEX
        rows: list[dict[str, Any]] = json.loads(index.read_text()) if index.exists() else []
        return [Case(**row) for row in rows]

    @staticmethod
    def write_all(cases: Sequence[Case], folder: Path) -> None:
        """Write the cases of a folder, all or nothing."""
        fresh = folder / f"{INDEX}.new"
        fresh.write_text(json.dumps([asdict(each) for each in cases], indent=1))
        fresh.replace(folder / INDEX)

    def arrays(self) -> list[Any]:
        """The inputs, the same on each machine."""
        return [Draw.of_json(each).array() for each in self.inputs]

    @property
    def expected(self) -> str:
        """The name of the file with samples of outputs, which no architecture and no precision changes."""
        return f"{self.model}-{self.batch}.npz"


def sampled(outputs: Sequence[Any]) -> dict[str, Any]:
    """Elements of outputs at places that a seed chooses, with the shapes."""
    found: dict[str, Any] = {}
    for number, output in enumerate(outputs):
        flat = np.asarray(output).ravel()
        high, low = Draw(number, [2, min(_SAMPLES, flat.size)], "int64", count=1 << 16).array()
        found[f"shape{number}"] = np.array(np.shape(output), np.int64)
        found[f"sample{number}"] = flat[((high << 16) + low) * flat.size >> 32]
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
