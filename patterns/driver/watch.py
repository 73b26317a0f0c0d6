"""Rewrite patterns of plugins, watched whichever driver applies them: xDSL's has no limit of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.patterns.driver.carry_out import carry_out, is_carried_out
from stepwell.patterns.driver.lineage import Lineage

MAX_DEPTH = 10_000
"""More than patterns of ours need: a plugin may rewrite an op once for each number in an attribute."""

_CURRENT: ContextVar[Lineage | None] = ContextVar("stepwell_watched_patterns", default=None)


@contextmanager
def watching(module: ModuleOp) -> Generator[None]:
    """Limit the rewrites in a row that watched patterns do while a pass runs on a module."""
    token = _CURRENT.set(Lineage(module, MAX_DEPTH, ""))
    try:
        yield
    finally:
        _CURRENT.reset(token)


@dataclass(frozen=True)
class _Plain:
    """A pattern without its watch."""

    origin: type[RewritePattern]
    match_and_rewrite: Callable[[Operation, PatternRewriter], None]


def watch(pattern_class: type[RewritePattern]) -> None:
    """Make a class of patterns raise StepwellError `endless-rules` when it does not end while a pass runs."""
    plain = pattern_class.match_and_rewrite

    @wraps(plain)
    def watched(self: RewritePattern, op: Operation, rewriter: PatternRewriter) -> None:
        if (lineage := _CURRENT.get()) is None or is_carried_out(rewriter):
            return plain(self, op, rewriter)
        carry_out([_Plain(pattern_class, partial(plain, self))], op, rewriter, lineage)

    pattern_class.match_and_rewrite = watched
