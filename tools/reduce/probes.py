"""Counted and remembered answers to the question whether a smaller program fails as the first did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Generic, Protocol, TypeVar

from stepwell.tools.reduce.child_runs import within
from stepwell.tools.reduce.signature import Signature


class Case(Protocol):
    """A program that may fail."""

    @property
    def key(self) -> bytes:
        """A hash of all that decides how it fails."""
        ...

    def __len__(self) -> int:
        """The number of its nodes or ops."""
        ...


C = TypeVar("C", bound=Case)


@dataclass
class Probes(Generic[C]):
    """
    The answers to whether cases fail in one way.

    Args: `signature_of` runs a case and says how it fails; `wanted` is the signature of the first case, whose
    kind alone counts with `any_of_kind`; `accept` is called with each case that fails so, the best so far;
    `deadline` is in seconds of `time.monotonic`: nothing counts after it; `jobs` cases are tried at a time,
    and the first in order counts, so that the result does not depend on it; a case that takes longer than
    `seconds` in this process is ended, and does not count.
    """

    signature_of: Callable[[C], Signature | None]
    wanted: Signature
    accept: Callable[[C], None]
    any_of_kind: bool = False
    deadline: float | None = None
    jobs: int = 1
    seconds: float | None = None
    count: int = 0
    _known: dict[bytes, bool] = field(default_factory=dict[bytes, bool])

    @property
    def is_over(self) -> bool:
        """Whether the time has passed."""
        return self.deadline is not None and monotonic() > self.deadline

    def first(self, cases: Iterable[C | None]) -> C | None:
        """The first case that fails in the way, which is the best so far then; None where none does."""
        for case, fails in self._answers(case for case in cases if case is not None):
            if fails:
                self.accept(case)
                return case
        return None

    def _answers(self, cases: Iterator[C]) -> Iterator[tuple[C, bool]]:
        if self.jobs == 1:
            for case in cases:
                if self.is_over:
                    return
                yield case, self._fails(case)
            return
        with ThreadPoolExecutor(self.jobs) as pool:
            while (some := list(islice(cases, self.jobs))) and not self.is_over:
                yield from zip(some, pool.map(self._fails, some), strict=True)

    def _fails(self, case: C) -> bool:
        key = case.key
        if key not in self._known:
            self.count += 1
            found = within(self.seconds, lambda: self.signature_of(case))
            self._known[key] = self._is_wanted(found)
        return self._known[key]

    def _is_wanted(self, found: Signature | None) -> bool:
        if found is None:
            return False
        return found.kind == self.wanted.kind if self.any_of_kind else found == self.wanted
