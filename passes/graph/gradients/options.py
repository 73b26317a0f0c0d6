"""The options of `gradient` that rules read."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.runtime.errors import StepwellError

TAPES = ("buffer", "list")
BLOCKED = "graph.blocked"
"""Attribute of loops that are in blocks already, while a gradient is written."""


@dataclass(frozen=True)
class Options:
    """The choices between memory and time in derivatives of loops."""

    every: int = 1
    """Loops keep the values that each of so many iterations begins with, and compute the others again."""
    keeps_all: bool = False
    """Whether loops keep all that their derivatives read, and compute nothing again."""
    has_lists: bool = False
    """Whether `graph.while` leaves a list as its tape, so that it runs once."""

    @staticmethod
    def of(checkpoint: str, tape: str) -> Options:
        """The options as texts. Raises: StepwellError `bad-option`."""
        kind, _, number = checkpoint.partition(":")
        is_count = kind == "every" and number.isdecimal() and int(number) > 0
        if not is_count and checkpoint not in ("none", "all"):
            message = f"checkpoint is {checkpoint!r}"
            help = "it is all, none, or every:K for a number K of iterations"
            raise StepwellError("bad-option", "gradient", message, help=help)
        if tape not in TAPES:
            help = f"it is one of {', '.join(TAPES)}"
            raise StepwellError("bad-option", "gradient", f"tape is {tape!r}", help=help)
        return Options(int(number) if is_count else 1, checkpoint == "none", tape == "list")
