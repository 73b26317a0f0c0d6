"""The versions of a model for fixed sizes, and the choice of one by the shapes of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.image import MAIN, ModelImage
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.machine.variants import variant_of
from stepwell.runtime.sessions.states import States, Targets

Fixed = Sequence[tuple[int, int, int]]
"""Dimensions that are fixed: number of the input, axis, size."""


class VersionModel(Protocol):
    """The part of a compiled model that versions use."""

    @property
    def threads(self) -> int:
        """The number of threads that kernels may use."""
        ...

    @threads.setter
    def threads(self, threads: int | None) -> None: ...

    def invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        """The outputs of a call on all inputs, states included."""
        ...

    def invoke_on(self, states: States, values: Sequence[object]) -> tuple[Array, ...]:
        """The outputs of a call on states, which it changes."""
        ...


class _Version(NamedTuple):
    """Code for fixed sizes, and where calls have these sizes."""

    model: VersionModel
    among_all: Fixed
    """Of all inputs, states included."""
    among_public: Fixed


class Versions:
    """The versions of a model, the first of which that fits a call runs it."""

    def __init__(self, image: ModelImage, load: Callable[[ModelImage], VersionModel]):
        """Args: `load` makes a model of an image. Raises: StepwellError `wrong-cpu`."""
        self._versions: list[_Version] = []
        whole = image.main.interface
        for entry in image.versions.values():
            sizes = dict(entry.variants[0].sizes)
            entry = entry._replace(variants=tuple(v._replace(sizes={}) for v in entry.variants))
            variant_of(entry)
            model = load(image._replace(functions={MAIN: entry}))
            fixed = [_fixed(interface, sizes) for interface in (whole, whole.public)]
            self._versions.append(_Version(model, *fixed))

    def of(self, values: Sequence[object]) -> VersionModel | None:
        """The version for the inputs of a call, states included; None for that of any sizes."""
        return next((v.model for v in self._versions if _fits(v.among_all, values)), None)

    def of_public(self, values: Sequence[object]) -> VersionModel | None:
        """The version for the inputs of a call without states."""
        return next((v.model for v in self._versions if _fits(v.among_public, values)), None)

    def set_threads(self, threads: int) -> None:
        """Set the number of threads of all versions."""
        for version in self._versions:
            version.model.threads = threads


def _fixed(interface: Interface, sizes: dict[str, int]) -> Fixed:
    return [
        (number, axis, sizes[str(dim)])
        for number, spec in enumerate(interface.inputs)
        for axis, dim in enumerate(spec.dims)
        if str(dim) in sizes
    ]


def _fits(fixed: Fixed, values: Sequence[object]) -> bool:
    """
    Whether inputs have the given fixed sizes; inputs of too low rank are refused later, by the code for any
    sizes.
    """
    for number, axis, size in fixed:
        shape = np.shape(cast("npt.ArrayLike", values[number]))
        if axis >= len(shape) or shape[axis] != size:
            return False
    return True
