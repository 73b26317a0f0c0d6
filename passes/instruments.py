"""Instruments with hooks around passes: timing, printing, verification, snapshots, counts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import ClassVar, TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from stepwell.dialects.verify import verify_module
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.files.whole_files import make_folder, write_text


class Instrument:
    """The base class of instruments: hooks that `PassContext` and the pass manager call; override some."""

    asked_for_required: ClassVar[bool] = False
    """Whether `should_run` is called for required passes too."""
    in_workers: ClassVar[bool] = False
    """Whether it also watches passes of worker processes; while another one watches, there are none."""

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left."""

    def should_run(self, module: ModuleOp, step: ModulePass) -> bool:
        """Whether a pass may run; one instrument's False skips it."""
        return True

    def alters(self, runs: range) -> bool:
        """Whether code made by pass runs of some numbers may differ from that without this instrument."""
        return type(self).should_run is not Instrument.should_run

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        """Called before a pass runs."""

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        """Called after a pass has run without an error."""


def module_text(module: ModuleOp) -> str:
    """The text of a module in the custom assembly format, with a final newline."""
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue() + "\n"


PASS_SECONDS: ContextVar[float] = ContextVar("stepwell_pass_seconds", default=0.0)
"""The time of the pass that ran last, without the instruments around it; the pass manager sets it."""


@dataclass
class Timed:
    """The measured time of a pass, and the passes that ran inside it."""

    name: str
    seconds: float = 0.0
    inner: list[Timed] = field(default_factory=list["Timed"])


class PassTiming(Instrument):
    """Measures the time of every pass; `report()` is a tree with milliseconds and shares of the whole."""

    def __init__(self) -> None:
        self.root = Timed("total")
        self._stack: list[Timed] = []

    def enter_pass_ctx(self) -> None:
        self._stack.clear()  # of a pass that failed

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        timed = Timed(str(step))
        (self._stack[-1] if self._stack else self.root).inner.append(timed)
        self._stack.append(timed)

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._stack.pop().seconds = PASS_SECONDS.get()

    def report(self) -> str:
        """The tree of times as text, one line a pass, inner passes indented."""
        self.root.seconds = sum(timed.seconds for timed in self.root.inner)
        lines = ["      ms  percent  pass"]

        def show(timed: Timed, depth: int) -> None:
            share = 100 * timed.seconds / self.root.seconds if self.root.seconds else 0.0
            lines.append(f"{timed.seconds * 1000:8.2f}  {share:6.1f}%  {'  ' * depth}{timed.name}")
            for inner in timed.inner:
                show(inner, depth + 1)

        show(self.root, 0)
        return "\n".join(lines)


class PrintIR(Instrument):
    """
    Prints the module before or after passes.

    Args: `before`, `after`: names of passes, or True for all; `only_changes` prints after a pass only when
    the text has changed; `as_diff` prints the changed lines alone; `stream` defaults to standard error.
    """

    def __init__(
        self,
        *,
        before: bool | Collection[str] = False,
        after: bool | Collection[str] = False,
        only_changes: bool = False,
        as_diff: bool = False,
        stream: TextIO | None = None,
    ):
        self._before, self._after = before, after
        self._only_changes, self._as_diff = only_changes, as_diff
        self._stream = stream
        self._texts: list[str] = []

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        shown = _selects(self._before, step)
        compared = (self._only_changes or self._as_diff) and _selects(self._after, step)
        self._texts.append(module_text(module) if shown or compared else "")
        if shown:
            self._print(f"// IR before {step}\n{self._texts[-1]}")

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        earlier = self._texts.pop()
        if not _selects(self._after, step):
            return
        text = module_text(module)
        if self._only_changes and text == earlier:
            self._print(f"// IR after {step}: no change\n")
        elif self._as_diff:
            from stepwell.passes.text_diff import text_diff  # 5 ms

            self._print(f"// IR after {step}\n{text_diff(earlier, text)}")
        else:
            from stepwell.passes.text_diff import text_diff  # 5 ms

            self._print(f"// IR after {step}\n{text}")

    def _print(self, text: str) -> None:
        print(text, file=self._stream or sys.stderr, flush=True)


def _selects(names: bool | Collection[str], step: ModulePass) -> bool:
    return names if isinstance(names, bool) else step.name in names


class VerifyEach(Instrument):
    """Verifies the module after every pass; invalid IR is an `InternalError` that names the pass."""

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        try:
            verify_module(module)
        except StepwellError as error:
            raise InternalError(
                error.where, f"{step.name} left broken IR: {error.message}", note=error.notes
            ) from error


@dataclass(frozen=True)
class Snapshot:
    """A pass that ran, and the file with the module after it; None when the pass changed nothing to write."""

    pass_name: str
    path: Path | None


class Snapshots(Instrument):
    """
    Writes the module after each pass to a folder: `01-simplify-expr.mlir`, `02-fuse-ops.mlir`, …

    Args: `only_changes` leaves out modules that a pass did not change; the module before all passes is
    `00-input.mlir` then, so that each file differs from the one before it. `taken` lists the passes that ran.
    """

    def __init__(self, folder: Path, *, only_changes: bool = False):
        self._folder = folder
        self._only_changes = only_changes
        self._last_text: str | None = None
        self.taken: list[Snapshot] = []

    def enter_pass_ctx(self) -> None:
        make_folder(self._folder)

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        if self._only_changes and self._last_text is None:
            self._last_text = module_text(module)
            write_text(self._folder / "00-input.mlir", self._last_text)

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        text = module_text(module)
        if self._only_changes and text == self._last_text:
            self.taken.append(Snapshot(step.name, None))
            return
        written = sum(snapshot.path is not None for snapshot in self.taken)
        path = self._folder / f"{written + 1:02}-{step.name}.mlir"
        write_text(path, text)
        self._last_text = text
        self.taken.append(Snapshot(step.name, path))


@dataclass(frozen=True)
class OpChange:
    """The number of ops of each name before and after a pass."""

    pass_name: str
    before: Counter[str]
    after: Counter[str]

    def __str__(self) -> str:
        changed = [
            f"{name} {self.before[name]} -> {self.after[name]}"
            for name in sorted({*self.before, *self.after})
            if self.before[name] != self.after[name]
        ]
        total = f"{self.before.total()} -> {self.after.total()} ops"
        return f"{self.pass_name}: {total}" + (f" ({', '.join(changed)})" if changed else "")


class OpCounts(Instrument):
    """Counts the ops before and after every pass; `changes` has them in order."""

    def __init__(self, report: Callable[[OpChange], None] | None = None):
        self.changes: list[OpChange] = []
        self._report = report
        self._before: list[Counter[str]] = []

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._before.append(_count_ops(module))

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self.changes.append(OpChange(step.name, self._before.pop(), _count_ops(module)))
        if self._report is not None:
            self._report(self.changes[-1])


class RewriteInstrument(Instrument, RewriteListener):
    """The base class of instruments that listen to rewrites; `running` is the pass that does them."""

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._listening = ExitStack()

    @property
    def running(self) -> str:
        """The name of the innermost pass that runs; empty where none does."""
        return self._stack[-1] if self._stack else ""

    def enter_pass_ctx(self) -> None:
        self._stack.clear()  # of a pass that failed
        self._listening.enter_context(listening(self))

    def exit_pass_ctx(self) -> None:
        self._listening.close()

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._stack.append(step.name)

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._stack.pop()


class RewriteCounts(RewriteInstrument):
    """Counts the rewrites that each pattern does; `counts` has them by pass, of a pass in a pass by that."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, Counter[str]] = {}

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        if self.running:
            self.counts.setdefault(self.running, Counter())[pattern] += 1


def _count_ops(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())
