"""The error type that users see: a code, a location, the finding and the next step."""

from collections.abc import Iterable, Sequence
from typing import Self


class StepwellError(Exception):
    """
    A user's mistake or an unsupported model, worded like a compiler's diagnostic.

    Args: `code` is kebab-case and stable; `where` is a location as text, such as `resnet.onnx: node
    "Conv_12"`, or anything with a `location` (an operation: its location is spelled out); `message` says what
    was expected and what was found; `excerpt` is lines of the user's text, `note` adds facts and `help` says
    the next step.
    """

    def __init__(
        self,
        code: str,
        where: object,
        message: str,
        *,
        note: str | Sequence[str] = (),
        help: str | None = None,
        excerpt: Sequence[str] = (),
    ):
        self.code = code
        self.where = describe_location(where)
        self.excerpt = tuple(excerpt)
        self.message = message
        self.notes = (note,) if isinstance(note, str) else tuple(note)
        self.help = help
        self.reproducer: str | None = None
        """The command that fails in the same way, where a pass failed and it has been written down."""
        super().__init__(self.render())

    def with_note(self, note: str) -> Self:
        """Add a note to the error; returns itself."""
        self.notes = (*self.notes, note)
        self.args = (self.render(),)
        return self

    def at(self, where: object) -> Self:
        """Set the location of the error, unless it has one already; returns itself."""
        self.where = self.where or describe_location(where)
        self.args = (self.render(),)
        return self

    def render(self) -> str:
        """The diagnostic as text: first line `error[code]: message`, then location, notes and help."""
        lines = [f"error[{self.code}]: {self.message}"]
        if self.where:
            lines.append(f"  --> {self.where}")
        lines += [f"   | {line}" for line in self.excerpt]
        lines += [f"  = note: {note}" for note in self.notes]
        if self.help is not None:
            lines.append(f"  = help: {self.help}")
        return "\n".join(lines)


class InternalError(StepwellError):
    """A bug of Stepwell's: the driver writes a reproducer and asks for a report."""

    def __init__(self, where: object, message: str, *, note: str | Sequence[str] = ()):
        super().__init__(
            "internal",
            where,
            message,
            note=note,
            help="this is a bug in Stepwell: please report it with the reproducer",
        )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean NAME? `, with the nearest known name, as the beginning of a help text; else empty."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}? " if near else ""


def describe_location(where: object) -> str:
    """
    The text of a location for a diagnostic: text as it is, an operation by its location.

    Works by attribute names alone, because the runtime may not import the IR: `NameLoc` has `desc`,
    `FileLineColLoc` has `filename`, `line` and `column`, `FusedLoc` has `locations`.
    """
    if where is None or isinstance(where, str):
        return where or ""
    # A `NameLoc` has a `location` too: that of the name.
    location = where if hasattr(where, "desc") else getattr(where, "location", where)
    parts: list[str] = []
    _collect(location, parts)
    return ", ".join(dict.fromkeys(parts))


def _collect(location: object, parts: list[str]) -> None:
    if (name := getattr(location, "desc", None)) is not None:
        file = _file(getattr(location, "location", None))
        parts.append((f"{file}: " if file else "") + f'node "{getattr(name, "data", name)}"')
    elif file := _file(location):
        parts.append(file)
    elif (inner := getattr(location, "locations", None)) is not None:
        for part in getattr(inner, "data", inner):
            _collect(part, parts)


def _file(location: object) -> str:
    """`file:line:column` of a `FileLineColLoc`; without a line (a model file has none) the file alone."""
    file, line, column = (getattr(location, part, None) for part in ("filename", "line", "column"))
    if file is None:
        return ""
    file, line, column = (getattr(part, "data", part) for part in (file, line, column))
    return f"{file}:{line}:{column}" if line else str(file)
