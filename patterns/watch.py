"""Rewrite patterns of plugins, watched whichever driver applies them: xDSL's has no limit of its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.patterns.lineage import Lineage

MAX_DEPTH = 10_000
"""More than rules of ours need: a plugin may rewrite an op once for each number in an attribute."""

_CURRENT: ContextVar[Lineage | None] = ContextVar("stepwell_watched_patterns", default=None)


@contextmanager
def watching(module: ModuleOp) -> Generator[None]:
    """Limit the rewrites in a row that watched patterns do while a pass runs on a module."""
    token = _CURRENT.set(Lineage(module, MAX_DEPTH, ""))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def watch(rule: type[RewritePattern]) -> None:
    """Make a class of patterns raise StepwellError `endless-rules` when it does not end while a pass runs."""
    plain = rule.match_and_rewrite

    @wraps(plain)
    def watched(self: RewritePattern, op: Operation, rewriter: PatternRewriter) -> None:
        if (lineage := _CURRENT.get()) is None:
            return plain(self, op, rewriter)
        made: list[Operation] = []
        rewriter.operation_insertion_handler.append(made.append)
        plain(self, op, rewriter)
        rewriter.operation_insertion_handler.pop()
        if rewriter.has_done_action:
            lineage.note(rule, op, made if op.parent is None else [*made, op])

    rule.match_and_rewrite = watched
