"""The size and the time of a mapped file, by which a change under the mapping is noticed."""

from __future__ import annotations

import os
from weakref import finalize

from stepwell.runtime.errors import StepwellError


class FileState:
    """
    The state of an open file at the time when it was mapped.

    The state is that of the mapped file itself: deleting its name, or giving the name to another file,
    changes nothing.
    """

    def __init__(self, path: str | os.PathLike[str], descriptor: int):
        self.path = os.fspath(path)
        self._descriptor = os.dup(descriptor)
        finalize(self, os.close, self._descriptor)
        self._before = self._now()

    @staticmethod
    def of(path: str | os.PathLike[str]) -> FileState:
        """The state of a file by its path. Raises: OSError."""
        with open(path, "rb") as file:
            return FileState(path, file.fileno())

    def expect_unchanged(self) -> None:
        """Require the same size and time as before. Raises: StepwellError `file-changed`."""
        if (now := self._now()) == self._before:
            return
        (size, _), (old_size, _) = now, self._before
        note = f"it had {old_size} bytes, and has {size}" if size != old_size else "it was written to"
        raise StepwellError(
            "file-changed",
            self.path,
            "the file changed after it was read, and weights are read from it when they are needed",
            note=note,
            help="read it again; write another file, and move it to this name, to replace a file in use",
        )

    def _now(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_size, status.st_mtime_ns
