"""
Numbers of pass runs, and limits by number: a search for the run, or the rewrite, that breaks a program.

A number follows from the pipelines and from the order of kernels in `@main` alone: caches, workers and
skipped passes do not change it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects.locations import fused_location
from stepwell.passes import pipelines
from stepwell.passes.instruments import Instrument, RewriteInstrument
from stepwell.passes.pipelines import Level
from stepwell.patterns.driver.records import RewriteRecord, texts_of
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class PassRun:
    """An execution of a pass in a compilation: its number from 1 on, and the kernel that it works on."""

    number: int
    level: Level
    kernel: str | None
    """The name of the kernel on level 2, or `main`; None for the whole program."""
    name: str
    skippable: bool

    def __str__(self) -> str:
        words = (str(self.number), self.level, self.kernel, self.name)
        return " ".join(word for word in words if word is not None)


class RunNumbers:
    """The number of the pass run that began last in a compilation."""

    def __init__(self, last: int):
        self.last = last


_NUMBERS: ContextVar[RunNumbers | None] = ContextVar("stepwell_run_numbers", default=None)


@contextmanager
def numbered(last: int | None = 0) -> Generator[None]:
    """Number the pass runs of a `with` block, those after a number; None leaves them without."""
    token = _NUMBERS.set(None if last is None else RunNumbers(last))
    try:
        yield
    finally:
        _NUMBERS.reset(token)


def run_numbers() -> RunNumbers | None:
    """The counter of the compilation under way; None where pass runs have no numbers."""
    return _NUMBERS.get()


def next_runs(count: int, after: int = 0) -> range:
    """The numbers of the next `count` runs, after some others; empty where pass runs have no numbers."""
    if (numbers := _NUMBERS.get()) is None:
        return range(0)
    return range(numbers.last + after + 1, numbers.last + after + count + 1)


def skip_numbers(count: int) -> None:
    """Count runs that took their numbers elsewhere."""
    if (numbers := _NUMBERS.get()) is not None:
        numbers.last += count


@cache
def _ours() -> frozenset[str]:
    """The names of the passes of our pipelines."""
    above = (*pipelines.MODEL, *pipelines.GRAPH, *pipelines.PARTITION, *pipelines.WORK, *pipelines.KERNELS)
    below = (*pipelines.SHARE, *pipelines.OF_KERNELS, *pipelines.MAIN, *pipelines.CLOCKS)
    return frozenset(step.name for step in (*above, *below))


def is_skippable(step: type[ModulePass] | ModulePass) -> bool:
    """Whether a compilation can do without a pass: by the pipelines, or because it is no conversion."""
    if step.name in _ours():
        return step.name not in pipelines.NEEDED
    kind = step if isinstance(step, type) else type(step)
    return ".lowering." not in kind.__module__


class PassLimit(Instrument):
    """Skips the pass runs beyond a number, except of passes that are needed."""

    asked_for_required = True

    def __init__(self, limit: int):
        self.limit = limit

    def should_run(self, module: ModuleOp, step: ModulePass) -> bool:
        numbers = _NUMBERS.get()
        return numbers is None or numbers.last <= self.limit or not is_skippable(step)

    def alters(self, runs: range) -> bool:
        return runs.stop - 1 > self.limit


class RewriteLimit(RewriteInstrument):
    """
    Lets passes do their first rewrites only; counts and records rewrites.

    Args: `limits` are numbers of rewrites by the name of the pass, over all its runs; `recorded` are the
    passes whose rewrites are kept in `records`; `stops` are numbers of rewrites right before which Python's
    debugger (`breakpoint`) is entered.
    """

    def __init__(
        self,
        limits: Mapping[str, int],
        *,
        recorded: Sequence[str] = (),
        stops: Mapping[str, int] | None = None,
    ):
        super().__init__()
        self.limits, self.stops = dict(limits), dict(stops or {})
        self.counts: Counter[str] = Counter()
        self.records: list[RewriteRecord] = []
        self._recorded = frozenset(recorded)
        self._before, self._op_name = "", ""

    @property
    def passes(self) -> set[str]:
        """The names of the passes that are limited, recorded or stopped."""
        return {*self.limits, *self.stops, *self._recorded}

    def alters(self, runs: range) -> bool:
        return not self.passes.isdisjoint(step.name for step in (*pipelines.OF_KERNELS, *pipelines.MAIN))

    def may_rewrite(self, pattern: str, op: Operation) -> bool:
        self._op_name = op.name
        return self.counts[self.running] < self.limits.get(self.running, self.counts[self.running] + 1)

    def rewriting(self, pattern: str, ops: Sequence[Operation]) -> None:
        if self.running in self._recorded:
            self._before = texts_of(ops)
        if self.stops.get(self.running) == (number := self.counts[self.running] + 1):
            where = describe_location(fused_location(ops)) or ops[0].name
            print(f"before rewrite {number} of {self.running}: {pattern} at {where}", file=sys.stderr)
            breakpoint()  # `up` leads to the pattern

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        self.counts[self.running] += 1
        if self.running in self._recorded:
            changed = [new for new in made if new.parent is not None] or [op] * (op.parent is not None)
            self.records.append(
                RewriteRecord(
                    self.counts[self.running],
                    self.running,
                    pattern,
                    self._op_name if op in made else op.name,  # of another class now
                    describe_location(op),
                    self._before,
                    texts_of(changed),
                )
            )
