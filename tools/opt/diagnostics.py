"""
`--verify-diagnostics`: compares the messages expected in a file's comments with those reported.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, cast

from stepwell.passes.context import Remark
from stepwell.runtime.errors import StepwellError

_ANY = re.compile(r"//\s*expected-\w|//.*expected-(?:error|remark|warning|note)(?:-re)?\s*(?:@|:|{{)")
"""Matches a comment that looks like an expectation, well-formed or not."""
_COMMENT = re.compile(
    r"//.*?expected-(?P<kind>error|remark|warning)(?P<re>-re)?\s*(?:@(?P<line>[+-]\d+|above|below|unknown))?\s*"
    r"(?::\s*(?P<text>.*?)|{{(?P<braced>.*)}})\s*$"
)
_REGEX = re.compile(r"{{(.*?)}}")
_PLACE = re.compile(r":(\d+):\d+")


def line_named(where: str) -> int | None:
    """The first line that the location of a message names."""
    place = _PLACE.search(where)
    return int(place[1]) if place else None


@dataclass(frozen=True)
class Expectation:
    """An expected message: a part of its text, and its line (None: a message without a line)."""

    kind: Literal["error", "remark", "warning"]
    text: str
    pattern: re.Pattern[str]
    line: int | None
    comment_line: int

    def is_met_by(self, where: str, message: str) -> bool:
        """Whether a message is the expected one: by the first line that `where` names, and by the text."""
        return self.line == line_named(where) and (self.pattern.search(message) is not None)


@dataclass(frozen=True)
class Expectations:
    """
    The `// expected-error: text` comments of a file, and those for a `remark` and a `warning`.

    A comment refers to the next line that is not such a comment; `@+2` and `@-1` count lines from the comment
    instead, `@above` and `@below` are the nearest lines that are none, and `@unknown` means a message without
    a line. The text may be any part of the message. MLIR's spelling, `expected-error {{text}}`, refers to its
    own line unless `@` says otherwise. In `expected-error-re` parts in double braces are regular expressions.
    """

    file: str
    expected: Sequence[Expectation]

    @staticmethod
    def read(text: str, file: str) -> Expectations:
        """
        The expectations in the comments of a text. Raises: StepwellError `syntax` for comments that cannot be
        read.
        """
        lines = text.split("\n")
        found = {n: _COMMENT.search(line) for n, line in enumerate(lines, 1) if _ANY.search(line)}
        expected: list[Expectation] = []
        unread: list[int] = []
        for number, match in found.items():
            pattern = None if match is None else _pattern(match)
            if match is None or pattern is None:
                unread.append(number)
                continue
            kind = cast('Literal["error", "remark", "warning"]', match["kind"])
            wanted = match["text"] or match["braced"] or ""
            expected.append(Expectation(kind, wanted, pattern, _line(match, number, found), number))
        if unread:
            raise _unreadable(file, [(n, lines[n - 1][lines[n - 1].index("expected-") :]) for n in unread])
        return Expectations(file, expected)

    def unmet_by(
        self,
        errors: Sequence[StepwellError],
        remarks: Sequence[Remark],
        warnings: Sequence[tuple[str, str]] = (),
    ) -> list[str]:
        """
        The mismatches as messages: missing diagnostics and unexpected errors.

        Additional remarks and warnings, each of a location and a message, are accepted.
        """
        missing = list(self.expected)
        problems: list[str] = []

        def meet(kind: str, where: str, message: str) -> bool:
            met = next((e for e in missing if e.kind == kind and e.is_met_by(where, message)), None)
            if met is not None:
                missing.remove(met)
            return met is not None

        for remark in remarks:
            meet("remark", remark.where, remark.message)
        for where, message in warnings:
            meet("warning", where, message)
        for error in errors:
            if not meet("error", error.where, error.render()):
                problems.append(f"unexpected error:\n{error.render()}")
        return problems + [
            f"{self.file}:{e.comment_line}: expected {e.kind} was not found: {e.text}" for e in missing
        ]


def _pattern(match: re.Match[str]) -> re.Pattern[str] | None:
    """The regular expression for the text of a comment; None when a part in braces is not a valid one."""
    wanted = match["braced"] if match["text"] is None else match["text"]
    if not match["re"]:
        return re.compile(re.escape(wanted))
    parts = _REGEX.split(wanted)
    try:
        return re.compile(
            "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
        )
    except re.error:
        return None


def _line(match: re.Match[str], number: int, comments: Container[int]) -> int | None:
    """The line that the comment on line `number` refers to; None for a message without a line."""
    where = match["line"] or ("below" if match["braced"] is None else "+0")
    if where in ("above", "below"):
        step = 1 if where == "below" else -1
        return next(n for n in count(number + step, step) if n not in comments)
    return None if where == "unknown" else number + int(where)


def _unreadable(file: str, comments: Sequence[tuple[int, str]]) -> StepwellError:
    """The error for comments that look like expectations but cannot be read."""
    (first, text), *others = comments
    return StepwellError(
        "syntax",
        f"{file}:{first}",
        f"this is no comment that --verify-diagnostics can read: {text}",
        note=[f"also {file}:{number}: {text}" for number, text in others],
        help="`expected-error: text`, or as in MLIR `expected-error@+1 {{text}}`; with -re the text has "
        "{{regular expressions}}; @ takes +N, -N, above, below or unknown; also expected-remark, -warning",
    )
