"""A compiled program with functions, data or cells: its bytecode runs here, its segments are native code."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.image import MAIN, ModelImage
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.vm.bytecode import decode
from stepwell.runtime.vm.machine import Machine


class ProgramModel:
    """A program of a machine; calls of its segments are calls of compiled models."""

    def __init__(self, image: ModelImage, *, threads: int | None = None):
        self.image = image
        self.segments = {
            name: CompiledModel(image._replace(functions={MAIN: entry}, program=b""), threads=threads)
            for name, entry in image.functions.items()
        }
        self.program = decode(image.program, image.weights)
        self._machine = Machine(self.program, self.segments)

    def __call__(self, *values: object) -> object:
        """The result of `@main`."""
        return self._machine.call(MAIN, *(np.asarray(value) for value in values))
