"""Counts of a server, as the text that Prometheus reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ModelMetrics:
    """The counts of one model."""

    def __init__(self):
        self.answers: Counter[int] = Counter()
        """Requests by the status of their answers."""
        self.calls = 0
        self.members = 0
        self.samples = 0
        self.call_seconds = 0.0
        self._seconds: Counter[float] = Counter()
        self._total_seconds = 0.0

    def called(self, members: int, samples: int, seconds: float) -> None:
        """Count a batch that has run."""
        self.calls += 1
        self.members += members
        self.samples += samples
        self.call_seconds += seconds

    def answered(self, status: int, seconds: float) -> None:
        """Count an answer, and the time from its request on."""
        self.answers[status] += 1
        self._seconds[next((bound for bound in _SECONDS if seconds <= bound), float("inf"))] += 1
        self._total_seconds += seconds

    def lines(self, model: str, waiting: int) -> Iterator[tuple[str, str, str]]:
        """The metrics as (name, labels, value)."""
        label = f'model="{_escaped(model)}"'
        for status, count in sorted(self.answers.items()):
            yield "stepwell_requests_total", f'{label},code="{status}"', str(count)
        yield "stepwell_batches_total", label, str(self.calls)
        yield "stepwell_batched_requests_total", label, str(self.members)
        yield "stepwell_samples_total", label, str(self.samples)
        yield "stepwell_compute_seconds_total", label, f"{self.call_seconds:.6f}"
        yield "stepwell_queue_length", label, str(waiting)
        total = 0
        for bound in (*_SECONDS, float("inf")):
            total += self._seconds[bound]
            yield "stepwell_request_seconds_bucket", f'{label},le="{_bound(bound)}"', str(total)
        yield "stepwell_request_seconds_sum", label, f"{self._total_seconds:.6f}"
        yield "stepwell_request_seconds_count", label, str(total)


_ABOUT: Mapping[str, tuple[str, str]] = {
    "stepwell_requests_total": ("counter", "requests by the status of the answer"),
    "stepwell_batches_total": ("counter", "batches that have run"),
    "stepwell_batched_requests_total": ("counter", "requests in these batches"),
    "stepwell_samples_total": ("counter", "samples in these batches"),
    "stepwell_compute_seconds_total": ("counter", "seconds in which batches ran"),
    "stepwell_queue_length": ("gauge", "requests that wait"),
    "stepwell_request_seconds": ("histogram", "seconds from a request to its answer"),
}


def metrics_text(lines: Iterable[tuple[str, str, str]]) -> str:
    """The metrics of all models in Prometheus' text format, grouped by name after the type."""
    by_family: dict[str, list[str]] = {family: [] for family in _ABOUT}
    for name, labels, value in lines:
        family = name
        if name not in _ABOUT:
            family = name.rpartition("_")[0]
        by_family[family].append(f"{name}{{{labels}}} {value}\n")
    text: list[str] = []
    for family, found in by_family.items():
        kind, about = _ABOUT[family]
        text += [f"# HELP {family} {about}\n", f"# TYPE {family} {kind}\n", *found]
    return "".join(text)


def _bound(bound: float) -> str:
    return "+Inf" if bound == float("inf") else f"{bound:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
