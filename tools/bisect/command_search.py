"""`bisect --test`: a binary search over pass runs, and over rewrites, by a command on the artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from stepwell.passes import PassContext
from stepwell.passes.pass_limit import PassLimit, PassRun, RewriteLimit
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import save
from stepwell.tools.bisect.finding import Finding, Rewrite
from stepwell.tools.check.user_command import CANNOT_TELL, bad_test, status_of_test, with_files
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.pass_runs import pass_runs

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions

ARTIFACT, MODEL = "{}", "{onnx}"
_REVERSED = "at limit 0, without the passes, it says bad: has it to end with 0 for a good artifact?"


def files_of(artifact: str, model: Path) -> Mapping[str, str]:
    """The files of a test command by the marks that stand for them."""
    return {MODEL: quote(str(model)), ARTIFACT: quote(artifact)}


@dataclass
class CommandSearch:
    """
    A search for the pass run from which on a test command says bad.

    Args: `command` has `{}` in place of the artifact, `{onnx}` in that of the model; `timeout` is in seconds.
    `runs` counts calls of the command.
    """

    path: Path
    options: CompileOptions
    command: str
    timeout: float
    runs: int = 0

    def run(self) -> Finding:
        """
        The first pass run after which the command says bad.

        Raises: StepwellError `bad-test` for a command that says always the same, or not the same again;
        `not-a-pass` where all runs that can be skipped are innocent.
        """
        if ARTIFACT not in self.command and MODEL not in self.command:
            raise self._error("the command names no artifact", help="write {} where its file goes")
        every = pass_runs(self.path, self.options)
        limits = [0, *(run.number for run in every if run.skippable)]
        self._expect_ends()
        good, bad = self._first_bad(limits, self._is_bad)
        if self._is_bad(good) or not self._is_bad(bad):
            raise self._error(f"the test is not repeatable, at limits {good} and {bad}")
        run = every[bad - 1]
        rewrite = self._rewrite(run, good)
        return Finding(run, node="" if rewrite is None else rewrite.record.where, rewrite=rewrite)

    def _expect_ends(self) -> None:
        """Require the command to say bad without a limit, twice, and good at limit 0."""
        first, again = self._is_bad(None), self._is_bad(None)
        if first != again:
            raise self._error("the test is not repeatable: two runs without a limit disagree")
        if not first:
            verdict = "cannot tell" if first is None else "says good"
            message = f"the command {verdict} without a limit: there is nothing to find"
            is_reversed = first is False and self._is_bad(0)
            raise self._error(message, help=_REVERSED if is_reversed else None)
        if (verdict := self._is_bad(0)) is None:
            raise self._error("the command cannot tell at limit 0, where every skippable pass is off")
        if verdict:
            message = "wrong with every skippable pass off"
            help = "`stepwell validate` judges each pass"
            raise StepwellError("not-a-pass", str(self.path), message, help=help)

    def _first_bad(self, limits: Sequence[int], is_bad: Callable[[int], bool | None]) -> tuple[int, int]:
        """
        Neighbours of some limits, of which the first is the last good one. Args: the first of all is good,
        the last is bad.

        Raises: StepwellError `bad-test` where the command cannot judge any between.
        """
        good, bad = 0, len(limits) - 1
        while bad - good > 1:
            middle = (good + bad) // 2
            nearest = sorted(range(good + 1, bad), key=lambda index: abs(index - middle))
            verdicts = ((index, is_bad(limits[index])) for index in nearest)
            index, verdict = next(((i, v) for i, v in verdicts if v is not None), (None, None))
            if index is None:
                message = f"the command cannot tell at the limits between {limits[good]} and {limits[bad]}"
                raise self._error(message)
            good, bad = (good, index) if verdict else (index, bad)
        return limits[good], limits[bad]

    def _rewrite(self, run: PassRun, before: int) -> Rewrite | None:
        """The rewrite of a run from which on the command says bad; None where it edits by hand."""
        name = run.name.partition("{")[0]
        earlier = self._compiled(before, name, None, None).counts[name]
        records = self._compiled(run.number, name, None, None).records
        if len(records) == earlier or self._is_bad(run.number, {name: earlier}):
            return None
        counts = range(earlier, len(records) + 1)
        _, number = self._first_bad(counts, lambda count: self._is_bad(run.number, {name: count}))
        return Rewrite(records[number - 1], len(records))

    def _is_bad(self, limit: int | None, rewrites: Mapping[str, int] | None = None) -> bool | None:
        """Whether the command calls the artifact that is compiled with limits bad; None without a verdict."""
        with TemporaryDirectory(prefix="stepwell-", ignore_cleanup_errors=True) as folder:
            artifact = Path(folder, self.path.stem + ".stepwell")
            try:
                self._compiled(limit, "", rewrites, artifact)
            except StepwellError:
                if limit is None:
                    raise
                return None
            return self._verdict(artifact, limit)

    def _compiled(
        self, limit: int | None, recorded: str, rewrites: Mapping[str, int] | None, artifact: Path | None
    ) -> RewriteLimit:
        """Compile with limits, and write the artifact; returns the rewrites of a pass."""
        counted = RewriteLimit(rewrites or {}, recorded=[recorded] if recorded else [])
        limited = [] if limit is None else [PassLimit(limit)]
        with PassContext.current().watched_by([*limited, *([counted] if counted.passes else [])]):
            image = build_image(self.path, self.options)
        if artifact is not None:
            save(image, artifact)
        return counted

    def _verdict(self, artifact: Path, limit: int | None) -> bool | None:
        self.runs += 1
        text = with_files(self.command, files_of(str(artifact), self.path))
        at = " without a limit" if limit is None else f" at limit {limit}"
        status = status_of_test(self.command, text, self.timeout, at)
        if status is None:
            raise self._error(f"the command took over {self.timeout:g} seconds{at}")
        return None if status == CANNOT_TELL else status != 0

    def _error(self, message: str, help: str | None = None) -> StepwellError:
        return bad_test(self.command, message, help=help)
