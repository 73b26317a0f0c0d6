"""The messages of the log about any pass: its rewrites, numbered, and in a line its counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.passes.context import PassContext
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.runtime.log import Log, logger


@contextmanager
def logged_changes(step: ModulePass, module: ModuleOp, context: PassContext) -> Generator[None]:
    """
    Log the rewrites of a pass that runs in a `with` block, and its counters where it says nothing itself.
    """
    log = logger(type(step).__module__)
    if not log.on(1):
        yield
        return
    rewrites, before = _LoggedRewrites(log, context), Counter(context.counters.get(step.name, {}))
    decisions, ops = log.decisions, sum(1 for _ in module.walk())
    with listening(rewrites):
        yield
    if log.decisions > decisions:
        return
    parts = [f"{ops} -> {after} ops"] if (after := sum(1 for _ in module.walk())) != ops else []
    parts += _amounts(context.counters.get(step.name, Counter()) - before)
    if rewrites.counts:
        parts.append(f"{rewrites.counts.total()} rewrites: {', '.join(_amounts(rewrites.counts))}")
    if parts:
        log(1, "; ".join(parts))


def _amounts(counts: Counter[str]) -> list[str]:
    return [f"{amount} {name}" for name, amount in counts.most_common()]


class _LoggedRewrites(RewriteListener):
    """Logs and counts the rewrites of a pass; those of passes inside of it are theirs."""

    def __init__(self, log: Log, context: PassContext):
        self._log, self._context = log, context
        self._depth = len(context.running)
        self.counts: Counter[str] = Counter()
        self._op_name = ""

    def may_rewrite(self, pattern: str, op: Operation) -> bool:
        self._op_name = op.name
        return True

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        if len(self._context.running) != self._depth:
            return
        self.counts[pattern] += 1
        new = ", ".join(each.name for each in made) or "nothing new"
        number, name = self.counts.total(), self._op_name if op in made else op.name  # of another class now
        self._log(2, "rewrite {}: {} made {} of {}", number, pattern, new, name, node=op)
