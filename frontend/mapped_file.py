"""A model file mapped into memory."""

from __future__ import annotations

import mmap
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.file_state import FileState
from stepwell.runtime.files.unreadable import unreadable


def mapped_file(path: Path) -> tuple[memoryview, FileState]:
    """The read-only bytes of a file, and its state. Raises: StepwellError `no-file`, `invalid-model`."""
    try:
        with path.open("rb") as file:
            state = FileState(path, file.fileno())
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), state
    except ValueError:
        raise StepwellError("invalid-model", path.name, "the file is empty") from None
    except OSError as error:
        raise unreadable(path, "model", error) from None
