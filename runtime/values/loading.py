"""Models of images and artifacts: compiled code, or a program with functions, data or cells."""

from __future__ import annotations

import os
from typing import cast
from warnings import warn

from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.image import ModelImage
from stepwell.runtime.machine.variants import for_this_machine
from stepwell.runtime.model import CompiledModel, expect_artifact

EXECUTORS = ("auto", "native", "vm")
"""The executors of artifacts."""


def load(
    path: str | os.PathLike[str], *, threads: int | None = None, executor: str = "auto"
) -> CompiledModel:
    """
    Load an artifact of `model.save` or `stepwell compile -o`; needs neither xDSL nor onnx.

    Exported libraries (`.so`) are loaded too, and run on one thread. Of a file of a `stepwell.Library`, of
    either kind, this makes one again.

    Loading runs no code of the file, but for the trial of tile registers on a CPU with AMX; calling the model
    does: load only what you trust, as with a shared library.
    Args: `executor` runs a program with functions or data: `native` functions, `vm` for its instructions, or
    `auto` for native functions where it has some.
    Raises: StepwellError `bad-artifact`, `unknown-file-type`, `no-file`, `wrong-cpu` or `bad-option`;
    `missing-package` or `unknown-backend` for parts that need what is not here; `cannot-access`; `no-source`
    for the interpreter, and `unsupported` for another executor that the artifact has nothing for.
    """
    _expect_executor(path, executor)
    expect_artifact(path, "stepwell.compile reads models")
    if os.fspath(path).endswith(".so"):
        return _loaded_library(path, threads)
    image = load_image(path)
    if image.is_library:
        return _library(image, threads)
    try:
        image = for_this_machine(image)
    except StepwellError as error:
        raise error.at(str(path)) from None
    if threads != 1 and not image.program and all(variant.pool is None for variant in image.main.variants):
        message = f"{path}: an artifact of an older version runs on one thread: compile the model again"
        warn(message, RuntimeWarning, stacklevel=2)
    try:
        return model_of(image, threads=threads, executor=executor)
    except InternalError as error:  # its header names symbols that its code lacks
        raise StepwellError(
            "bad-artifact", str(path), error.message, help="compile the model again"
        ) from None
    except StepwellError as error:
        raise error.at(str(path)) from None


def _expect_executor(path: str | os.PathLike[str], executor: str) -> None:
    """Require an executor of artifacts. Raises: StepwellError `no-source`, `bad-option`."""
    if executor == "interpreter":
        help = "the interpreter runs the model's own file: stepwell.compile"
        raise StepwellError("no-source", os.fspath(path), "an artifact holds no IR", help=help)
    if executor not in EXECUTORS:
        legal = f"one of {', '.join(EXECUTORS)}"
        raise StepwellError("bad-option", None, f"executor must be {legal}, found {executor!r}")
    if executor == "vm" and os.fspath(path).endswith(".so"):
        raise _without_bytecode()


def _loaded_library(path: str | os.PathLike[str], threads: int | None) -> CompiledModel:
    """The model of a shared library. Raises: StepwellError `needs-host` for one that calls a program's."""
    from stepwell.runtime.files.exported import load_exported

    image = load_exported(path)
    if any(entry.callees for entry in image.functions.values()):
        message = "the library calls functions of the program that it is in"
        raise StepwellError("needs-host", str(path), message, help="compile the model to a .stepwell file")
    return _library(image, threads) if image.is_library else model_of(image, threads=threads)


def _library(image: ModelImage, threads: int | None) -> CompiledModel:
    """The library of an image, with the type that `load` announces for models."""
    from stepwell.runtime.library import Library

    return cast(CompiledModel, Library.of_image(image, threads=threads))


def model_of(image: ModelImage, *, threads: int | None = None, executor: str = "auto") -> CompiledModel:
    """The model of an image: compiled code, or a program with functions. Raises: as `CompiledModel`."""
    if not image.program:
        if executor == "vm":
            raise _without_bytecode()
        if not image.main.interface.states:
            return CompiledModel(image, threads=threads)
        from stepwell.runtime.sessions.stateful import StatefulModel

        return StatefulModel(image, threads=threads)
    from stepwell.runtime.values.compiled import CompiledProgram

    return cast(CompiledModel, CompiledProgram(image, threads=threads, executor=executor))


def _without_bytecode() -> StepwellError:
    help = 'compile the model with executor="vm"'
    return StepwellError("unsupported", None, "the artifact has no bytecode", help=help)
