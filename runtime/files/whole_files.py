"""Atomic writing of files: under a temporary name, then renamed, so that a file is whole or absent."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from stepwell.runtime.errors import StepwellError

_UNFINISHED: set[Path] = set()
"""The temporary files that are being written."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Generator[IO[bytes]]:
    """
    A binary file to write, which replaces `path` at the end of the block, and is removed after an exception.

    Raises: StepwellError `cannot-write` (read-only folder, full disk).
    """
    import tempfile  # 4 ms, which loading a model does not need

    target = Path(path)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        temporary = Path(name)
        _UNFINISHED.add(temporary)
        with os.fdopen(handle, "wb") as file:
            yield file
        temporary.chmod(0o644)
        temporary.replace(target)
        _UNFINISHED.discard(temporary)
        temporary = None
    except OSError as error:
        raise StepwellError(
            "cannot-write",
            str(target),
            f"the file could not be written: {error.strerror or error}",
            help="choose a folder that you may write to, with enough space",
        ) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
            _UNFINISHED.discard(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files that threads of this process write: it is about to end."""
    for temporary in list(_UNFINISHED):
        temporary.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, unless they exist. Raises: StepwellError `cannot-write`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StepwellError(
            "cannot-write", str(path), f"the folder could not be made: {error.strerror}"
        ) from None


def check_place(path: Path) -> None:
    """
    Refuse an output path whose folder does not exist, before long work. Raises: StepwellError `cannot-write`.
    """
    if not path.parent.is_dir():
        raise StepwellError(
            "cannot-write",
            str(path),
            f"there is no folder {str(path.parent)!r}",
            help="make it first, or choose another output",
        )
    if path.is_dir():
        raise StepwellError(
            "cannot-write", str(path), "expected a file's name, found a folder", help="name a file in it"
        )


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file. Raises: StepwellError `cannot-write`."""
    with whole_file(path) as file:
        file.write(data)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file of UTF-8 text. Raises: StepwellError `cannot-write`."""
    write_bytes(path, text.encode())
