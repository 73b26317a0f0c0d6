"""The finding of a search: the pass run, kernel and rewrite at fault, and commands that show them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stepwell.passes.pass_limit import PassRun
from stepwell.patterns.driver.records import RewriteRecord
from stepwell.tools.json_facts import Facts

_MAX_TEXT_CHARS = 300


@dataclass(frozen=True)
class Rewrite:
    """The rewrite at fault: its record, and the number of rewrites of the pass up to the end of the run."""

    record: RewriteRecord
    count: int

    def after(self, earlier: int) -> Rewrite:
        """The rewrite with its number after those of earlier runs of the pass."""
        record = replace(self.record, number=self.record.number + earlier)
        return Rewrite(record, self.count + earlier)

    def facts(self) -> Facts:
        """The rewrite as JSON values."""
        record = self.record
        return {
            "index": record.number,
            "count": self.count,
            "rule": record.rule,
            "before": record.before,
            "after": record.after,
        }


@dataclass(frozen=True)
class Finding:
    """The first pass run after which a program is wrong."""

    run: PassRun
    node: str = ""
    value: str = ""
    """The first value of the model that is wrong, where one is."""
    difference: float | None = None
    rewrite: Rewrite | None = None
    note: str = ""
    is_hidden: bool = False
    """Whether the model's outputs are right all the same."""
    good: str | None = None
    bad: str | None = None
    """Commands that show the program right before the run, and wrong after it."""
    stop: str | None = None
    """The command that stops in the debugger right before the rewrite."""

    def facts(self) -> Facts:
        """The finding as JSON values."""
        return {
            "level": self.run.level,
            "pass": self.run.name,
            "index": self.run.number,
            "kernel": self.run.kernel,
            "rewrite": None if self.rewrite is None else self.rewrite.facts(),
            "node": self.node,
            "value": self.value,
            "difference": self.difference,
            "note": self.note,
            "good": self.good,
            "bad": self.bad,
            "stop": self.stop,
        }

    def __str__(self) -> str:
        kernel = "" if self.run.kernel is None else f", kernel {self.run.kernel}"
        first = f"wrong since pass run {self.run.number}: {self.run.name} (level {self.run.level}{kernel})"
        lines = [first]
        if self.rewrite is not None:
            record = self.rewrite.record
            lines[0] += f", rewrite {record.number} of {self.rewrite.count}: {record.rule} at {record.where}"
            lines += [f"  before: {_short(record.before)}", f"  after:  {_short(record.after)}"]
        elif self.node:
            lines[0] += f', at node "{self.node}"'
        if self.difference is not None:
            value = f'value "{self.value}": ' if self.value else ""
            lines.append(f"  {value}difference {self.difference:.2g}")
        lines += [f"  note: {self.note}"] if self.note else []
        commands = (("good", self.good), ("bad", self.bad), ("stop", self.stop))
        return "\n".join([*lines, *(f"  {what + ':':5} {text}" for what, text in commands if text)])


def _short(text: str) -> str:
    """The first lines of a text of ops, in one line."""
    joined = "; ".join(line.strip() for line in text.splitlines()) or "(erased)"
    return joined if len(joined) <= _MAX_TEXT_CHARS else joined[:_MAX_TEXT_CHARS] + " …"
