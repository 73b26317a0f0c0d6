"""Writing of files that must not exist."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from stepwell.runtime.errors import StepwellError


def write_new_text(path: Path, text: str) -> None:
    """
    Write a whole file of UTF-8 text, never over another one.

    It is written under a temporary name and linked: a link, unlike a renaming, fails where the file exists.
    Raises: StepwellError `cannot-write`.
    """
    try:
        with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.link(file.name, path)
    except FileExistsError:
        help = "choose another name"
        raise StepwellError("cannot-write", str(path), "the file exists already", help=help) from None
    except OSError as error:
        message = f"the file could not be written: {error.strerror or error}"
        raise StepwellError("cannot-write", str(path), message) from None
