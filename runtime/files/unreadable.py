"""Reads of files that raise a `no-file` error with a similar name from the folder."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from stepwell.runtime.errors import StepwellError, did_you_mean

_MOST_NAMES = 1000


def unreadable(path: Path, what: str, error: OSError | UnicodeDecodeError) -> StepwellError:
    """A `no-file` error about the model, the inputs, …; its help for a missing file is a similar name."""
    is_missing = isinstance(error, FileNotFoundError)
    help = did_you_mean(path.name, _names_beside(path)).strip() if is_missing else ""
    reason = error.strerror if isinstance(error, OSError) else None
    message = f"cannot read the {what}: {reason or error}"
    return StepwellError("no-file", str(path), message, help=help or None)


def expect_exists(path: Path, what: str) -> None:
    """Require a file or a folder that another program reads. Raises: StepwellError `no-file`."""
    try:
        path.stat()
    except OSError as error:
        raise unreadable(path, what, error) from None


def read_text(path: Path, what: str) -> str:
    """The text of a file in UTF-8. Raises: StepwellError `no-file`."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, what, error) from None


def read_bounded(path: Path, what: str, max_bytes: int) -> bytes:
    """The bytes of a file. Raises: StepwellError `no-file`, `too-large`."""
    try:
        if (size := path.stat().st_size) <= max_bytes:
            return path.read_bytes()
    except OSError as error:
        raise unreadable(path, what, error) from None
    message = f"the {what} has {size} bytes, at most {max_bytes} are read"
    raise StepwellError("too-large", path.name, message)


def _names_beside(path: Path) -> list[str]:
    """The first names in the folder of a file; none if the folder cannot be read."""
    try:
        return [each.name for each in islice(path.parent.iterdir(), _MOST_NAMES)]
    except OSError:
        return []
