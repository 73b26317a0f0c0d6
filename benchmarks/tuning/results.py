"""Results that are kept as lines of a file, so that the same command goes on where it was ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from stepwell.runtime.rpc.interleaved import geometric_mean

PARTS = ("models", "kernels", "noise", "costs")
TRANSFORMERS = ("vit", "bert", "gpt", "swin", "distil", "whisper", "t5", "deit")
"""Beginnings of the names of models that are transformers."""
LEAST_GAIN = 0.99
"""A model is slower where the upper end of the interval is below this."""
_SHARE_OF_LISTED = 0.9


@dataclass(frozen=True)
class Result:
    """A measured figure: of a model, a kernel, a run of false gains, or a cost."""

    part: str
    name: str
    threads: int
    seconds: float
    """The time that the search was given; 0 for what is not searched."""
    found: float
    """The ratio of times with the choosers and without the database to those with it; or the cost."""
    high: float = 0.0
    """The upper end of the ratio's interval."""
    choosers: float = 1.0
    """The ratio of times with the constants of before to those with today's, untuned."""
    listed: float = 0.0
    """The ratio that a search by hand found on another machine; 0 without."""
    text: str = ""

    @property
    def gain(self) -> float:
        """The ratio to the chooser's code of before."""
        return self.found * self.choosers

    @property
    def key(self) -> tuple[str, str, int]:
        """Equal for results of the same case."""
        return self.part, self.name, self.threads

    def cells(self) -> str:
        """A line of the table of all cases."""
        numbers = f"{self.choosers:.2f} | {self.found:.2f} | {self.gain:.2f} | {self.listed or '-'}"
        return f"| {self.name} | {self.threads} | {numbers} | {self.text} |"


class Results:
    """The results in a file, of which later lines replace earlier ones of the same case."""

    def __init__(self, path: Path):
        self._path, self.kept = path, dict[tuple[str, str, int], Result]()
        self.failed: list[str] = []
        """The cases of this run that ended in an error."""
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                result = Result(**json.loads(line))
            except (ValueError, TypeError):
                continue  # a torn line, or one of another version
            self.kept[result.key] = result

    def is_known(self, part: str, name: str, threads: int, seconds: float) -> bool:
        """Whether a case was measured with as much time as now, or more."""
        known = self.kept.get((part, name, threads))
        return known is not None and known.seconds >= seconds

    def add(self, result: Result) -> None:
        """Keep a result, and append it to the file."""
        self.kept[result.key] = result
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
        print(result.cells(), flush=True)

    def of(self, part: str) -> Sequence[Result]:
        """The results of a part."""
        return [result for result in self.kept.values() if result.part == part]


@dataclass(frozen=True)
class Bound:
    """A figure with its bound."""

    what: str
    found: str
    wanted: str
    holds: bool

    def cells(self) -> str:
        """A line of the table of bounds."""
        return f"| {self.what} | {self.found} | {self.wanted} | {'yes' if self.holds else '**no**'} |"


def bounds(results: Results) -> list[Bound]:
    """The bounds of what was measured."""
    costs = {result.name: result for result in results.of("costs")}
    found = [*_models(results.of("models")), *_kernels(results.of("kernels"))]
    for run in results.of("noise"):
        found.append(Bound(f"{run.name}: runs with a gain", f"{run.found:g}", "0", run.found == 0))
    for name, most in COST_BOUNDS.items():
        if name in costs:
            value = costs[name].found
            found.append(Bound(name, f"{value:.2f}", f"at most {most:g}", value <= most))
    return found


COST_BOUNDS: Mapping[str, float] = {
    "database of 10,000 lines, ms a compilation": 30.0,
    "import of stepwell.te after stepwell, ms": 30.0,
    "custom operator over the same formula in ONNX ops, time": 1.05,
}


def _models(rows: Sequence[Result]) -> list[Bound]:
    found: list[Bound] = []
    for threads in dict.fromkeys(row.threads for row in rows):
        mine = [row for row in rows if row.threads == threads]
        kinds = {
            "models": (mine, 1.03),
            "transformers": ([row for row in mine if row.name.startswith(TRANSFORMERS)], 1.04),
            "unet_small": ([row for row in mine if row.name == "unet_small"], 1.10),
        }
        for name, (of_kind, least) in kinds.items():
            if of_kind:
                mean = geometric_mean([row.gain for row in of_kind])
                what = f"{len(of_kind)} {name}, threads {threads}: geometric mean"
                found.append(Bound(what, f"{mean:.3f}", f"{least:.2f}", mean >= least))
        worst = min(mine, key=lambda row: row.high * row.choosers)
        least = worst.high * worst.choosers
        what = f"slowest model, threads {threads}: {worst.name}, upper end"
        found.append(Bound(what, f"{least:.2f}", f"{LEAST_GAIN}", least >= LEAST_GAIN))
    return found


def _kernels(rows: Sequence[Result]) -> list[Bound]:
    listed = [row for row in rows if row.listed]
    return [
        Bound(
            f"{row.name}: chooser and tuned",
            f"{row.gain:.2f}",
            f"90 % of {row.listed:.2f}",
            row.gain >= _SHARE_OF_LISTED * row.listed,
        )
        for row in listed
    ]


def table(results: Results) -> str:
    """The table of bounds and that of all cases, in Markdown."""
    head = "| What | Found | Bound | Holds |\n|---|--:|--:|---|"
    cases = "| Case | Threads | Choosers | Tuned | Both | By hand | |\n|---|--:|--:|--:|--:|--:|---|"
    rows = [result.cells() for part in ("models", "kernels") for result in results.of(part)]
    return "\n".join([head, *(bound.cells() for bound in bounds(results)), "", cases, *rows])
