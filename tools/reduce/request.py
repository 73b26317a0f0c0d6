"""The request for a reduction: how the program fails, and how much time there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from stepwell.runtime.errors import StepwellError
from stepwell.tools.json_facts import Facts
from stepwell.tools.reduce.signature import Signature


@dataclass(frozen=True)
class Request:
    """
    The request for a reduction.

    Args: `kind` is what the program does now, unless given; `code` is the error's, empty for any. Times are
    in seconds: from `slow_seconds` on a program is slow; one process may take `timeout`; nothing is tried
    after `budget`. `command` is that of a test.
    """

    kind: str | None = None
    code: str = ""
    slow_seconds: float = 60
    command: str = ""
    timeout: float = 60
    jobs: int = 1
    budget: float | None = None
    any_of_kind: bool = False

    @property
    def deadline(self) -> float | None:
        """The end of the budget from now on, by `time.monotonic`."""
        return None if self.budget is None else monotonic() + self.budget

    def seconds_in_process(self, kind: str, first: float) -> float | None:
        """The limit of a probe in this process; `first` is what the whole program took. None in others."""
        return max(self.timeout, 2 * first) if kind in ("error", "wrong") else None

    def expect(self, found: Signature | None, where: str, what: str) -> Signature:
        """
        Require a signature of the kind and code in question.

        Args: `what` is the program as it is called in a message.
        Raises: StepwellError `not-interesting`.
        """
        if found is None:
            message = {
                "error": f"the {what} raises no error",
                "crash": f"the {what} ends without a signal",
                "slow": f"the {what} takes less than {self.slow_seconds:g} seconds",
            }.get(self.kind or "", f"the {what} compiles and agrees with the reference")
            help = "reduce needs a program that fails: `stepwell run --check` shows how one does"
            raise StepwellError("not-interesting", where, message, help=help)
        if self.code and found.code != self.code:
            message = f"expected error[{self.code}], found error[{found.code}]: {found.detail}"
            raise StepwellError("not-interesting", where, message)
        return found


@dataclass(frozen=True)
class Reduction:
    """The result of a reduction: sizes in `unit` (`nodes` or `ops`), and the command that fails."""

    unit: str
    before: int
    after: int
    probes: int
    seconds: float
    signature: Signature
    command: str
    files: Sequence[str] = ()
    """The files of the case."""

    def facts(self) -> Facts:
        """The result as JSON values."""
        return {
            f"{self.unit}_before": self.before,
            f"{self.unit}_after": self.after,
            "probes": self.probes,
            "seconds": round(self.seconds, 3),
            "signature": self.signature.facts(),
            "command": self.command,
            "files": list(self.files),
        }

    def __str__(self) -> str:
        unit = self.unit.removesuffix("s") if self.after == 1 else self.unit
        probes = f"{self.probes} probe{'s' * (self.probes != 1)}"
        sizes = f"{self.before} → {self.after} {unit}"
        line = f"{sizes}, {probes}, {self.seconds:.1f} s: {self.signature}\n  {self.command}"
        return f"{line}\n  attach: {' '.join(self.files)}" if self.files else line
