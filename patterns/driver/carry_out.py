"""The one place where rewrites are carried out: located, watched for not ending, counted, and limited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Protocol

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects.locations import adopt_locations, fused_location
from stepwell.patterns.driver.lineage import Lineage, name_of


class Rewrites(Protocol):
    """A rewrite pattern, or a match of a dataflow rule that is to be replaced."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Rewrite an op with the rewriter, or leave it as it is."""
        ...


class RewriteListener:
    """The base class of what counts, logs or limits rewrites; override some."""

    def may_rewrite(self, pattern: str, op: Operation) -> bool:
        """Whether a pattern may be tried on an op; False skips it before it matches."""
        return True

    def rewriting(self, pattern: str, ops: Sequence[Operation]) -> None:
        """Called when a pattern has matched ops, right before it changes anything."""

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        """Called after a pattern has rewritten an op, which may be erased, to the new ops `made`."""


_LISTENERS: ContextVar[tuple[RewriteListener, ...]] = ContextVar("stepwell_rewrite_listeners", default=())


@contextmanager
def listening(listener: RewriteListener) -> Generator[None]:
    """Call a listener, after those around it, for each rewrite of a `with` block."""
    token = _LISTENERS.set((*_LISTENERS.get(), listener))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


class KnownFacts(Protocol):
    """What is known about ops until they change."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known about any op."""
        ...

    def drop_around(self, changed: Iterable[Operation]) -> None:
        """Forget what is known about ops that changed, and about all ops around them."""
        ...


_FACTS: ContextVar[KnownFacts | None] = ContextVar("stepwell_known_facts", default=None)


@contextmanager
def dropping(facts: KnownFacts | None) -> Generator[None]:
    """
    Drop facts after each rewrite of a `with` block: about ops that it changed or put others next to.

    In a block inside, other facts or None take their place.
    """
    token = _FACTS.set(facts)
    try:
        yield
    finally:
        _FACTS.reset(token)


class _Announcing(PatternRewriter):
    """A rewriter that calls a function before the first change of a pattern."""

    announce: Callable[[], None]

    def __setattr__(self, name: str, value: object) -> None:
        if name == "has_done_action" and value and not self.has_done_action:
            self.announce()
        super().__setattr__(name, value)


def _announcing(
    rewriter: PatternRewriter,
    listeners: Iterable[RewriteListener],
    pattern: Rewrites,
    ops: Sequence[Operation],
) -> None:
    """Make a rewriter call `rewriting` of the listeners that have it."""
    waiting = [each for each in listeners if type(each).rewriting is not RewriteListener.rewriting]
    if not waiting:
        return
    rewriter.__class__ = _Announcing
    call = [partial(each.rewriting, name_of(pattern), ops) for each in waiting]
    vars(rewriter)["announce"] = lambda: [each() for each in call]


class _NewOps(list[Operation]):
    """The ops that a rewrite inserts; its `append` is the handler by which a rewriter is known as carried."""


def carry_out(
    patterns: Iterable[Rewrites],
    op: Operation,
    rewriter: PatternRewriter,
    lineage: Lineage | None = None,
    *,
    matched: Sequence[Operation] = (),
    located: bool = False,
) -> Sequence[Operation] | None:
    """
    Try patterns on an op, in order, until one rewrites it.

    New ops get the location of the op, as far as they have none. `matched`: the ops that a graph pattern has
    matched, when `op` is but the place of insertion; their locations are fused. `located`: a builder has
    given new ops their location, so regions that moved into them are not walked again.
    Returns: the new ops, or None when no pattern did anything.
    Raises: StepwellError `endless-rules`, with a `lineage` only.
    """
    listeners, facts, block = _LISTENERS.get(), _FACTS.get(), op.parent
    location = fused_location(matched) if matched else op.location
    made = _NewOps()
    rewriter.operation_insertion_handler.append(made.append)
    done: Rewrites | None = None
    try:
        for pattern in patterns:
            if listeners:
                if not all(each.may_rewrite(name_of(pattern), op) for each in listeners):
                    continue
                _announcing(rewriter, listeners, pattern, matched or (op,))
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                done = pattern
                break
    finally:
        rewriter.operation_insertion_handler.pop()
        if not located:
            adopt_locations(made, location)
    if done is None:
        return None
    if facts is not None and not facts.is_empty:
        around = None if block is None else block.parent_op()
        facts.drop_around([op, *matched, *made, *([around] if around is not None else [])])
    for listener in listeners:
        listener.rewrote(name_of(done), op, made)
    if lineage is not None:
        lineage.note(done, matched or (op,), made)
    return made


def is_carried_out(rewriter: PatternRewriter) -> bool:
    """Whether a rewriter is in use by `carry_out`, so that its changes are recorded already."""
    handlers = rewriter.operation_insertion_handler
    return any(isinstance(getattr(handler, "__self__", None), _NewOps) for handler in handlers)
