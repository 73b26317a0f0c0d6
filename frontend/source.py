"""A model at the entry of the compiler: a path, bytes or a message, with its weights still in the file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, cast

from google.protobuf.message import DecodeError

from stepwell.frontend.mapped_file import mapped_file
from stepwell.frontend.messages import ModelProto
from stepwell.frontend.wire import without_weights
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.external import ExternalFiles
from stepwell.runtime.files.file_state import FileState
from stepwell.runtime.warned import warn

ModelSource: TypeAlias = str | Path | bytes | ModelProto


class ModelWarning(UserWarning):
    """A defect of a model that the import corrects or ignores, with the correction."""


@dataclass
class Source:
    """A parsed model, and the files and byte ranges with its weights."""

    name: str
    """The name in diagnostics: the file's name, or `<model>`."""
    model: ModelProto
    data: memoryview = field(default_factory=lambda: memoryview(b""))
    """The serialized model, of which `segments` were not parsed."""
    segments: frozenset[tuple[int, int]] = frozenset()
    files: ExternalFiles = field(default_factory=lambda: ExternalFiles(None))
    state: FileState | None = None
    """The state of the model's file, if weights stay in it."""
    warned: bool = False
    """Whether a defect of the model was corrected and reported."""

    @property
    def states(self) -> list[FileState]:
        """The states of the files that were mapped so far."""
        return ([self.state] if self.state is not None else []) + self.files.states

    def node(self, name: str) -> str:
        """The location of a node in diagnostics."""
        return f'{self.name}: node "{name}"'

    def invalid(self, message: str, where: str | None = None, help: str | None = None) -> StepwellError:
        """The error for a model that is not valid ONNX."""
        return StepwellError("invalid-model", where or self.name, message, help=help)

    def warn(self, message: str) -> None:
        """Report a correction."""
        self.warned = True
        warn(f"{self.name}: {message}", ModelWarning)


def open_model(source: ModelSource, base_dir: str | Path | None = None) -> Source:
    """
    Parse a model; its large weights stay in the mapped file, or in the given bytes.

    Args: `base_dir` is the folder of external data, by default that of the file.
    Raises: StepwellError `no-file`, `invalid-model`, `bad-model` for an object of another class, or
    `unknown-file-type` for an artifact.
    """
    if isinstance(source, ModelProto):
        return _checked(Source("<model>", source, files=ExternalFiles(base_dir)))
    if isinstance(source, bytes):
        return _parse("<model>", memoryview(source), ExternalFiles(base_dir))
    if not isinstance(cast(object, source), str | os.PathLike):
        raise StepwellError(
            "bad-model",
            None,
            f"a model is a path, the bytes of a file or an onnx.ModelProto, found {type(source).__name__}",
        )
    path = Path(source)
    if path.suffix == ".stepwell":
        raise StepwellError(
            "unknown-file-type",
            str(path),
            "expected a model, found an artifact, which is compiled already",
            help="pass it to `stepwell run` or `stepwell.load`",
        )
    files = ExternalFiles(path.parent, model=path) if base_dir is None else ExternalFiles(base_dir)
    data, state = mapped_file(path)
    opened = _parse(path.name, data, files)
    opened.state = state if opened.segments else None
    return opened


def _parse(name: str, data: memoryview, files: ExternalFiles) -> Source:
    """The source of serialized bytes, parsed without large weights. Raises: StepwellError `invalid-model`."""
    try:
        small, segments = without_weights(data)
        model = ModelProto.FromString(small)
    except (ValueError, DecodeError, RecursionError) as error:
        raise StepwellError(
            "invalid-model",
            name,
            f"the file is no ONNX model, or is cut off: {error}",
            help="check the file's size against its source; `git lfs pull` when it is a pointer file",
        ) from None
    return _checked(Source(name, model, data, segments, files))


def _checked(source: Source) -> Source:
    """A source whose model has a graph and a version. Raises: StepwellError `invalid-model`."""
    model = source.model
    if not model.HasField("graph") or model.ir_version <= 0:
        raise source.invalid("the file has no ONNX graph")
    return source
