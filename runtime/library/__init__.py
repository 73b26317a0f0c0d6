"""Libraries: several models in one file, which share equal weights."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.artifact import load_image, save
from stepwell.runtime.files.exported import load_exported
from stepwell.runtime.files.suffixes import LIBRARY_SUFFIX
from stepwell.runtime.host import Callee
from stepwell.runtime.image import LIBRARY, MAIN, Entry, ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel, expect_artifact, expect_artifact_name

__all__ = ["Import", "Library"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")


class Import(NamedTuple):
    """A function outside of compiled code that a function of a library calls."""

    function: str
    kind: str
    """`numpy`, `ffi` or a backend's name."""
    name: str
    bytes: int
    """The size of its code in the file."""
    where: str
    """The node of the model."""


class Library:
    """
    Compiled models by name, with one set of weights.

    `library["decode"]` is a model, which is loaded at its first use; `save` writes one artifact, of which
    `stepwell.load` makes a library again.
    """

    def __init__(self, models: Mapping[str, CompiledModel], *, threads: int | None = None):
        """
        Args: `models` by name; `threads` that kernels may use (default: all cores).
        Raises: StepwellError `bad-name`; `unsupported` for a program with functions or data.
        """
        self.image = joined_image({name: model.image for name, model in models.items()})
        self._threads = threads
        self._models: dict[str, CompiledModel] = {}

    @staticmethod
    def load(path: str | os.PathLike[str], *, threads: int | None = None) -> Library:
        """The library of a file. Raises: StepwellError `bad-artifact`, `no-file`, `unknown-file-type`."""
        expect_artifact(path, "stepwell.compile reads models")
        if os.fspath(path).endswith(LIBRARY_SUFFIX):
            return Library.of_image(load_exported(path), threads=threads)
        return Library.of_image(load_image(path), threads=threads)

    @staticmethod
    def of_image(image: ModelImage, *, threads: int | None = None) -> Library:
        """The library of an image. Raises: StepwellError `bad-artifact` for a program."""
        if image.program:
            raise StepwellError("bad-artifact", None, "the artifact is a program, and no library")
        library = Library({}, threads=threads)
        library.image = image
        return library

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the models."""
        return tuple(self.image.functions)

    @property
    def imports(self) -> tuple[Import, ...]:
        """The functions outside of compiled code that the models call."""
        pairs = [(name, callee) for name, entry in self.image.functions.items() for callee in entry.callees]
        return tuple(_import(name, callee) for name, callee in pairs)

    def __len__(self) -> int:
        return len(self.image.functions)

    def __iter__(self) -> Iterator[str]:
        return iter(self.image.functions)

    def __getitem__(self, name: str) -> CompiledModel:
        """
        A model, loaded at its first use.

        Raises: StepwellError `unknown-function` with near names; `wrong-cpu`, as loading does.
        """
        if name not in self._models:
            self._models[name] = _model_of(self._single(name), self._threads)
        return self._models[name]

    def _single(self, name: str) -> ModelImage:
        """The image of a model alone, with the weights of all."""
        if (entry := self.image.functions.get(name)) is None:
            help = f"{did_you_mean(name, self.functions)}the functions are {', '.join(self.functions)}"
            raise StepwellError("unknown-function", None, f"the library has no function {name!r}", help=help)
        return self.image._replace(functions={MAIN: entry}, buffers=())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the library as one file. Raises: StepwellError `cannot-write`, `bad-option`, …"""
        expect_artifact_name(path)
        if not self.image.functions:
            message = "the library has no function"
            raise StepwellError("bad-option", str(Path(path)), message, help="give it models")
        save(self.image, path)

    def __repr__(self) -> str:
        return f"<Library {', '.join(self.functions)}>"


def _model_of(image: ModelImage, threads: int | None) -> CompiledModel:
    if not image.main.interface.states:
        return CompiledModel(image, threads=threads)
    from stepwell.runtime.sessions.stateful import StatefulModel

    return StatefulModel(image, threads=threads)


def _checked_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        message = f"a name has 1 to 80 letters, digits or '_' and begins with no digit, found {name!r:.100}"
        raise StepwellError("bad-name", None, message, help="choose another name")
    return name


def _expect_no_program(name: str, image: ModelImage) -> None:
    if image.program:
        message = f"{name!r} is a program with functions or data, which has an artifact of its own"
        raise StepwellError("unsupported", None, message)


def joined_image(images: Mapping[str, ModelImage]) -> ModelImage:
    """
    An image with the functions of several, in which equal weights are one.

    Raises: StepwellError `bad-name`; `unsupported` for a program with functions or data.
    """
    functions: dict[str, Entry] = {}
    weights: list[Array] = []
    known: dict[tuple[object, ...], int] = {}
    for name, image in images.items():
        _expect_no_program(_checked_name(name), image)
        if image.weight_check is not None:
            image.weight_check.wait()
        entry = image.main
        numbers = [_number(image.weights[number], weights, known) for number in entry.weights]
        functions[name] = entry._replace(weights=tuple(numbers))
    return ModelImage(functions, tuple(weights), {LIBRARY: list(functions)})


def _number(array: Array, weights: list[Array], known: dict[tuple[object, ...], int]) -> int:
    """The number of a weight in the library; a new weight is added."""
    plain = np.ascontiguousarray(array)
    digest = blake2b(plain.reshape(-1).view(np.uint8).data, digest_size=32).digest()
    key = (array.dtype.name, array.shape, digest)
    if key not in known:
        known[key] = len(weights)
        weights.append(array)
    return known[key]


def _import(function: str, callee: Callee) -> Import:
    return Import(function, callee.kind, callee.name, len(callee.code), callee.where)
