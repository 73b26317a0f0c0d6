"""The error for a file that cannot be read, with a similar name from its folder."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from stepwell.runtime.errors import StepwellError, did_you_mean

_MOST_NAMES = 1000


def unreadable(path: Path, what: str, error: OSError) -> StepwellError:
    """A `no-file` error about the model, the inputs, …; its help for a missing file is a similar name."""
    is_missing = isinstance(error, FileNotFoundError)
    help = did_you_mean(path.name, _names_beside(path)).strip() if is_missing else ""
    message = f"cannot read the {what}: {error.strerror or error}"
    return StepwellError("no-file", str(path), message, help=help or None)


def _names_beside(path: Path) -> list[str]:
    """The first names in the folder of a file; none if the folder cannot be read."""
    try:
        return [each.name for each in islice(path.parent.iterdir(), _MOST_NAMES)]
    except OSError:
        return []
