"""
The analysis manager: facts about an op are computed once, and again when the op has changed.

`analysis(op, Kind)` in a pass gives `Kind.of(op)`, cached. A rewrite of the drivers drops the analyses of
all ops around it; the end of a pass drops all that the pass does not declare to preserve.
Source: MLIR's analysis manager (`getAnalysis`, `markAnalysesPreserved`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Protocol, Self, TypeVar, cast

from xdsl.ir import Operation

from stepwell.passes.base import ALL_ANALYSES
from stepwell.patterns.driver.carry_out import dropping


class Cacheable(Protocol):
    """An analysis of an op, with the ops inside of it; valid until one of these ops changes."""

    name: ClassVar[str]
    """The name by which passes declare that they preserve it."""

    @classmethod
    def of(cls, op: Operation) -> Self:
        """The facts about an op, which is not changed. Raises: StepwellError for IR that has none."""
        ...


Kind = TypeVar("Kind", bound=Cacheable)


class AnalysisManager:
    """The analyses of the ops of a module while a pipeline runs."""

    def __init__(self) -> None:
        self._found: dict[Operation, dict[type[Cacheable], Cacheable]] = {}

    @staticmethod
    def current() -> AnalysisManager | None:
        """The manager of the pass that runs; None outside of passes, and in those of plugins."""
        return _CURRENT.get()

    def get(self, op: Operation, kind: type[Kind]) -> Kind:
        """An analysis of an op. Raises: what the analysis raises."""
        if (known := self._found.get(op, {}).get(kind)) is None:
            known = kind.of(op)
            self._found.setdefault(op, {})[kind] = known
        return cast(Kind, known)

    @property
    def is_empty(self) -> bool:
        """Whether it has no analysis of any op."""
        return not self._found

    def drop_around(self, changed: Iterable[Operation]) -> None:
        """Drop the analyses of ops that changed, and of all ops around them."""
        for op in changed:
            around: Operation | None = op
            while around is not None:
                self._found.pop(around, None)
                around = around.parent_op()

    @contextmanager
    def during(self, preserved: Sequence[str], *, cached: bool) -> Generator[None]:
        """
        Serve the analyses of a pass, then drop them; those named in `preserved` stay when the pass succeeds.

        Args: without `cached`, each analysis in the pass is computed anew, as it may change ops unnoticed.
        """
        token = _CURRENT.set(self if cached else None)
        kept: Sequence[str] = ()
        try:
            with dropping(self if cached else None):
                yield
            kept = preserved
        finally:
            _CURRENT.reset(token)
            if kept != ALL_ANALYSES:
                self._keep(kept)

    def _keep(self, names: Sequence[str]) -> None:
        kept = {op: {k: each for k, each in of.items() if k.name in names} for op, of in self._found.items()}
        self._found = {op: of for op, of in kept.items() if of}


_CURRENT: ContextVar[AnalysisManager | None] = ContextVar("stepwell_analysis_manager", default=None)


def analysis(op: Operation, kind: type[Kind]) -> Kind:
    """
    An analysis of an op: a cached one if nothing changed since this pipeline computed it.

    A pass that changes ops other than by the drivers of patterns asks before it changes them.
    """
    manager = AnalysisManager.current()
    return kind.of(op) if manager is None else manager.get(op, kind)
