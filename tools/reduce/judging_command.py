"""A command of the user's that says whether a program still shows the failure: `stepwell reduce --test`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from stepwell.tools.check.user_command import bad_test, status_of_test, with_files

CASE, INPUTS = "{}", "{inputs}"


@dataclass
class JudgingCommand:
    """
    A command that ends with 0 while a case is interesting; any other status counts as no.

    Args: `command` has `{}` in place of the case's file, and `{inputs}` in that of the inputs of a model;
    `timeout` is in seconds.
    """

    command: str
    timeout: float
    _status: int | None = field(default=0, init=False)
    """How the last run ended: its exit status, None where it took too long."""

    def is_interesting(self, case: Path, inputs: Path | None = None) -> bool:
        """Whether the command ends with 0. Raises: StepwellError `bad-test` where it cannot be run."""
        text = self.text(quote(str(case)), quote(str(inputs or "")))
        self._status = status_of_test(self.command, text, self.timeout)
        return self._status == 0

    def text(self, case: str, inputs: str = "") -> str:
        """The command with the names of files, quoted as a shell needs it."""
        return with_files(self.command, {INPUTS: inputs, CASE: case})

    def expect_usable(self, of_input: Callable[[], bool], of_nothing: Callable[[], bool]) -> None:
        """
        Require the command to say yes to the input, twice, and no to an empty program.

        Raises: StepwellError `bad-test`.
        """
        if CASE not in self.command:
            raise bad_test(self.command, "the command names no case", help="write {} where its file goes")
        first, again = of_input(), of_input()
        if first != again:
            raise bad_test(self.command, "the test is not repeatable: two runs of the input disagree")
        if not first:
            help = "it has to end with 0 while a case is interesting"
            message = f"the command does not call the input interesting: {self._ended()}"
            if of_nothing():
                help += "; an empty program is interesting to it: write `! COMMAND` for the opposite"
            raise bad_test(self.command, message, help=help)
        if of_nothing():
            raise bad_test(self.command, "the command calls an empty program interesting")

    def _ended(self) -> str:
        """The end of the last run, as a message has it."""
        if self._status is None:
            return f"it took over {self.timeout:g} seconds"
        return f"signal {-self._status} ended it" if self._status < 0 else f"it ended with {self._status}"
