"""`--verify-diagnostics`: errors and remarks that a file announces in comments, against those that appear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from stepwell.passes.context import Remark
from stepwell.runtime.errors import StepwellError

_COMMENT = re.compile(
    r"//\s*expected-(?P<kind>error|remark)(?:@(?P<offset>[+-]\d+|unknown))?:\s*(?P<words>.*?)\s*$"
)
_PLACE = re.compile(r":(\d+):\d+")


@dataclass(frozen=True)
class Expectation:
    """What must appear: words of a message, on a line (None: a message that names no line)."""

    kind: Literal["error", "remark"]
    words: str
    line: int | None
    comment_line: int

    def is_met_by(self, where: str, message: str) -> bool:
        """Whether a message is the one: its first place is on the line, and it holds the words."""
        place = _PLACE.search(where)
        return self.line == (int(place[1]) if place else None) and self.words in message


@dataclass(frozen=True)
class Expectations:
    """
    The `// expected-error: words` and `// expected-remark: words` comments of a file.

    A comment speaks of the next line that is not such a comment; `@+2` and `@-1` count lines from the comment
    instead, and `@unknown` stands for a message without a line. The words may be any part of the message.
    """

    file: str
    expected: Sequence[Expectation]

    @staticmethod
    def read(text: str, file: str) -> Expectations:
        """Find the comments of a text."""
        lines = text.split("\n")
        comments = {n: match for n, line in enumerate(lines, 1) if (match := _COMMENT.search(line))}
        expected: list[Expectation] = []
        for number, match in comments.items():
            if match["offset"] == "unknown":
                line = None
            elif match["offset"] is not None:
                line = number + int(match["offset"])
            else:
                line = next(n for n in range(number + 1, len(lines) + 2) if n not in comments)
            kind = "error" if match["kind"] == "error" else "remark"
            expected.append(Expectation(kind, match["words"], line, number))
        return Expectations(file, expected)

    def unmet_by(self, errors: Sequence[StepwellError], remarks: Sequence[Remark]) -> list[str]:
        """What is wrong, a message each: what is missing, and unexpected errors; remarks may be extra."""
        missing = list(self.expected)
        problems: list[str] = []

        def meet(kind: str, where: str, message: str) -> bool:
            met = next((e for e in missing if e.kind == kind and e.is_met_by(where, message)), None)
            if met is not None:
                missing.remove(met)
            return met is not None

        for remark in remarks:
            meet("remark", remark.where, remark.message)
        for error in errors:
            if not meet("error", error.where, error.render()):
                problems.append(f"unexpected error:\n{error.render()}")
        return problems + [
            f"{self.file}:{e.comment_line}: expected {e.kind} was not found: {e.words}" for e in missing
        ]
