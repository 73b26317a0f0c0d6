"""The program that a model was compiled from, for profiles and texts of kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from os import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model_source import Kernel, Profile
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.compile import compile as compile_model

if TYPE_CHECKING:
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.driver.options import CompileOptions, Model, ModelFile


class ProgramSource:
    """
    A model that can be compiled again with the same options, in the same pass context.

    Args: `again` returns the model, or raises an error when it is not the same any more.
    """

    def __init__(self, again: Callable[[], Model], options: CompileOptions):
        self._again, self._options = again, options
        self._context = _pass_context()

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels by name, in the order of the program. Raises: StepwellError `file-changed`."""
        return self._kernels

    @cached_property
    def _kernels(self) -> Mapping[str, Kernel]:
        from stepwell.tools.api.kernels import kernels_of

        with self._working():
            return kernels_of(self._again(), self._options, self._working)

    def profile(self, inputs: Sequence[object], threads: int, runs: int) -> Profile:
        """The parts of a call. Raises: StepwellError `file-changed`; as calling does."""
        from stepwell.tools.measure.calibrate import machine_limits
        from stepwell.tools.measure.profile import profile, profile_text

        model = self._timed
        if model.kernel_times is None:
            help = "compile the program before it is lowered to loops"
            raise StepwellError("no-profile", None, "a program of level 3 or 4 has no timers", help=help)
        if model.threads != threads:
            model.threads = threads
        limits = machine_limits()
        names = [spec.name for spec in model.interface.inputs]
        rows = profile(model, dict(zip(names, inputs, strict=True)), runs, limits)
        return Profile(tuple(rows), profile_text(rows, limits, threads))

    @cached_property
    def _timed(self) -> CompiledModel:
        """The same model with timers."""
        with self._working():
            return compile_model(self._again(), replace(self._options, profile=True, start="full"))

    @contextmanager
    def _working(self) -> Generator[None]:
        """The lock of the compiler, and a pass context as it was, without its instruments."""
        from stepwell.passes import PassContext

        with TURN, PassContext(**cast("dict[str, Any]", self._context)).active():
            yield


def _pass_context() -> Mapping[str, object]:
    """The arguments of the pass context that this thread has entered, without importing the compiler."""
    module = sys.modules.get("stepwell.passes.context")
    return {} if module is None else module.PassContext.current().as_data()


class SameFile:
    """A model's file, or a model in memory, as it was at first."""

    def __init__(self, model: ModelFile):
        self._model = model
        self._before = self._now()

    def __call__(self) -> ModelFile:
        """The model. Raises: StepwellError `file-changed`."""
        if (now := self._now()) is not None and now != self._before:
            message = "the file changed after the model was compiled from it"
            raise StepwellError("file-changed", str(self._model), message, help="compile it again")
        return self._model

    def _now(self) -> object:
        if not isinstance(self._model, str | Path):
            return None
        try:
            status = stat(self._model)
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
