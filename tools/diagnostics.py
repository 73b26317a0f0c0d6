"""`--verify-diagnostics`: the errors that a file announces in comments, against those that appear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.runtime.errors import StepwellError

_COMMENT = re.compile(r"//\s*expected-error(?:@(?P<offset>[+-]\d+|unknown))?:\s*(?P<text>.*?)\s*$")
_PLACE = re.compile(r":(\d+):\d+")


@dataclass(frozen=True)
class Expectation:
    """An error that must appear: words of its message, on a line (None: an error that names no line)."""

    text: str
    line: int | None
    comment_line: int


@dataclass(frozen=True)
class Expectations:
    """
    The `// expected-error: words` comments of a file.

    A comment speaks of the next line that is not such a comment; `@+2` and `@-1` count lines from the comment
    instead, and `@unknown` stands for an error without a line. The words may be any part of the whole
    message.
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
            offset = match["offset"]
            if offset == "unknown":
                line = None
            elif offset is not None:
                line = number + int(offset)
            else:
                line = next(n for n in range(number + 1, len(lines) + 2) if n not in comments)
            expected.append(Expectation(match["text"], line, number))
        return Expectations(file, expected)

    def unmet_by(self, errors: Sequence[StepwellError]) -> list[str]:
        """What is wrong, one message each: expected errors that are missing, and errors nobody expected."""
        missing = list(self.expected)
        problems: list[str] = []
        for error in errors:
            place = _PLACE.search(error.where)
            line = int(place[1]) if place else None
            words = error.render()
            match = next((e for e in missing if e.line == line and e.text in words), None)
            if match is None:
                problems.append(f"unexpected error:\n{words}")
            else:
                missing.remove(match)
        problems += [f"{self.file}:{e.comment_line}: expected error was not found: {e.text}" for e in missing]
        return problems
