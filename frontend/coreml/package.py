"""The files of a Core ML model: a single file, or a package with the program and its weights."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.files.file_state import FileState
from stepwell.runtime.files.unreadable import expect_exists

MAX_MANIFEST = 1 << 20
_ROOT = "@model_path"
"""What the names of weight files begin with: the folder of the program."""


class Package:
    """An opened model: the bytes of its program, and the files beside it."""

    def __init__(self, path: Path):
        """Open a file or a folder. Raises: StepwellError `no-file`, `invalid-model`, `external-data`."""
        self.name, self._path = path.name, path
        if path.is_dir():
            self._files = ExternalFiles(path)
            location = self._location()
        else:
            expect_exists(path, "model")
            self._files, location = ExternalFiles(path.parent, model=path), path.name
        self._folder = PurePosixPath(location).parent
        self.program = self._files.whole(location)

    @property
    def states(self) -> list[FileState]:
        """The states of the files that were read so far."""
        return self._files.states

    def blob(self, name: str) -> memoryview:
        """The bytes of a weight file. Raises: StepwellError `external-data`, `invalid-model`."""
        root, _, rest = name.partition("/")
        if root != _ROOT:
            raise self.invalid(f"the weight file {name!r} must begin with {_ROOT}/")
        return self._files.whole(str(self._folder / rest))

    def invalid(self, message: str) -> StepwellError:
        """The error for a package that is not well formed."""
        return StepwellError("invalid-model", self.name, message)

    def _location(self) -> str:
        """The place of the program, which the manifest names."""
        data = self._files.whole("Manifest.json")
        if len(data) > MAX_MANIFEST:
            raise self.invalid(f"Manifest.json has more than {MAX_MANIFEST} bytes")
        try:
            manifest = cast("dict[str, Any]", json.loads(bytes(data)))
            item = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise self.invalid(f"Manifest.json names no program: {error!r}") from None
        if not isinstance(item, str):
            raise self.invalid(f"Manifest.json: the path of the program must be text, found {item!r}")
        return f"Data/{item}"
