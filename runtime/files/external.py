"""External data of a model: the files that the model names, from its own folder only."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.file_state import FileState


class ExternalFiles:
    """
    The files in a model's folder, each mapped once. No file outside of the folder is opened, not even through
    links.

    Args: `model` is the model's file. Where that is a link itself, other links in its folder may lead into
    the folder of its target: download caches keep all files of a model in one folder under names of their
    own.
    """

    def __init__(self, folder: str | Path | None, *, model: Path | None = None):
        self._folder = None if folder is None else Path(folder)
        self._linked = (
            Path(os.path.realpath(model)).parent if model is not None and model.is_symlink() else None
        )
        self._open: dict[str, memoryview] = {}
        self.states: list[FileState] = []
        """The states of the files that were read so far."""

    def read(self, where: str, entries: Mapping[str, str], expected_bytes: int) -> memoryview:
        """
        The bytes of one tensor.

        Args: `entries` are the tensor's `external_data` (location, offset, length).
        Raises: StepwellError `external-data` for a path outside, a missing file, a range outside of the file
        or of another size than the tensor's.
        """
        location = entries.get("location", "")
        data = self._file(where, location)
        offset = _number(where, "offset", entries.get("offset", "0"))
        length = _number(where, "length", entries.get("length", str(expected_bytes)))
        if length != expected_bytes:
            raise _error(where, f"the tensor takes {expected_bytes} bytes, its external data has {length}")
        if offset + length > len(data):
            raise _error(
                where,
                f"bytes {offset} to {offset + length} are outside of {location!r}, which has {len(data)}",
                help="the data file is cut off, or belongs to another model",
            )
        return data[offset : offset + length]

    def whole(self, location: str) -> memoryview:
        """The bytes of a whole file. Raises: StepwellError `external-data` as `read` does."""
        return self._file("", location)

    @property
    def opened(self) -> Mapping[str, memoryview]:
        """The files that were read so far, by location."""
        return self._open

    def _file(self, where: str, location: str) -> memoryview:
        if location not in self._open:
            self._open[location] = self._map(where, location)
        return self._open[location]

    def _map(self, where: str, location: str) -> memoryview:
        if self._folder is None:
            raise _error(
                where,
                f"the weights are in {location!r}, and a model in memory has no folder",
                help="give the model by its path, or its folder to `import_onnx` as `base_dir`",
            )
        path = _inside(where, self._folder, location, self._linked)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _error(
                where,
                f"cannot read external data {location!r}: {error.strerror}",
                help=f"put it beside the model, as {path}",
            ) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _error(where, f"external data {location!r} is no regular file")
            self.states.append(FileState(path, descriptor))
            return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) if status.st_size else b"")
        finally:
            os.close(descriptor)


def _inside(where: str, folder: Path, location: str, linked: Path | None) -> Path:
    """The real path of a location. Raises: StepwellError when it is inside neither folder."""
    windows = PureWindowsPath(location)
    if (
        not location
        or "\0" in location
        or os.path.isabs(location)
        or windows.drive
        or windows.root
        or ".." in windows.parts
    ):
        raise _error(
            where,
            f"external data {location!r} is no path inside the model's folder",
            help="a location is relative and has no `..`",
        )
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / location))
    if not path.is_relative_to(root) and path.parent != linked:
        raise _error(
            where,
            f"external data {location!r} leads out of the model's folder through a link",
            help="put the file itself beside the model",
        )
    return path


def _number(where: str, name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise _error(where, f"{name} of the external data must be a number of bytes, found {text!r}")
    return int(text)


def _error(where: str, message: str, help: str | None = None) -> StepwellError:
    return StepwellError("external-data", where, message, help=help)
