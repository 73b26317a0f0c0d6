"""A compiled program: its bytecode runs on the machine, its segments are native code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

from stepwell.runtime.files.artifact import save
from stepwell.runtime.image import MAIN, ModelImage
from stepwell.runtime.model import CompiledModel, expect_artifact
from stepwell.runtime.values.program import ProgramModel
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.machine import Limits

if TYPE_CHECKING:
    from stepwell.runtime.model_source import ModelSource


class CompiledProgram(ProgramModel):
    """
    A program with functions, data or cells, compiled.

    `program(x, …)` takes and returns Python values by the types of its `@main`: arrays, lists, tuples, None
    for no value, data of `program.data`, functions. Calls from several threads at once are safe.
    """

    source: ModelSource | None = None
    """The program that it was compiled from; None for an artifact."""

    def __init__(self, image: ModelImage, *, threads: int | None = None, **limits: Unpack[Limits]):
        """
        Args: `image` of the compiler or an artifact; `threads` is the number of threads for kernels (default:
        all cores); the limits are those of `Machine`.
        Raises: StepwellError `wrong-cpu`, `bad-bytecode`, `bad-artifact`.
        """
        self.image = image
        if image.weight_check is not None:
            image.weight_check.wait()
        self.segments = {
            name: CompiledModel(image._replace(functions={MAIN: entry}, program=b""), threads=threads)
            for name, entry in image.functions.items()
        }
        """The segments by name, each a compiled model of tensors."""
        super().__init__(decode(image.program, image.weights), self.segments, **limits)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program as one artifact. Raises: StepwellError `cannot-write`, `unknown-file-type`."""
        expect_artifact(path, "name it with the suffix .stepwell")
        save(self.image, path)
