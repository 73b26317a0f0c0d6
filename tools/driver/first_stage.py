"""The first stage of a model of `start="now"`: level 1 by the meanings of its ops, without compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects import func

from stepwell.dialects._xdsl import plugged_in_dialects
from stepwell.lowering.interpret import Program as Interpreted
from stepwell.lowering.main_to_buffers import input_symbols
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import NumberedWeights
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.machine.arguments import checked_input, checked_object
from stepwell.tools.driver.compilation import is_lowered, main_of
from stepwell.tools.driver.kept_models import expect_unchanged, stamp_of
from stepwell.tools.driver.levels import to_graph
from stepwell.tools.driver.model_interface import read_interface, with_initial_values
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import start

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model


class NoFirstStage(Exception):
    """A model that only compiled code runs: it is below level 1 already, or has ops without a meaning."""


class FirstStage:
    """
    A model that is read, checked and on level 1; several threads may call it at the same time.

    Raises: StepwellError for a model that cannot be read; NoFirstStage.
    """

    def __init__(self, model: Model, options: CompileOptions):
        self.file = _file_of(model)
        """The model's file, and its stamp before it was read; None for a model in memory."""
        with collector_paused():
            compilation = start(model, options, NumberedWeights())
            ctx = compilation.ctx
            if is_lowered(compilation.module):
                raise NoFirstStage
            if not isinstance(model, Program):  # else the module would be copied (15 us an op)
                compilation.reproducer = Reproducer(lambda: start(model, options, ctx.weights).module)
            to_graph(compilation, ",convert-plugins-to-graph" if plugged_in_dialects() else "")
            self._weights = compilation.ctx.weights
            main = main_of(compilation.module)
            self.interface, self.initial = with_initial_values(main, _interface(main), self._weights, first=0)
            """The initial values of states are in the second, by number."""
            try:
                self._run = Interpreted(compilation.module, compilation.ctx, quick=options.opt_level > 0)
            except StepwellError as error:
                raise NoFirstStage from error

    def expect_unchanged(self) -> None:
        """Require the model's files to be as they were when it was read. Raises: StepwellError."""
        if self.file is not None:
            expect_unchanged(*self.file)
        self._weights.expect_unchanged()

    def __call__(self, values: Sequence[object], threads: int) -> tuple[Array, ...]:
        """The outputs, in arrays of their own. Raises: StepwellError as compiled code does."""
        specs = self.interface.inputs
        inputs = [
            cast(Array, checked_object(spec, value)) if spec.is_object else checked_input(spec, value)
            for spec, value in zip(specs, values, strict=True)
        ]
        shapes = tuple(() if spec.type else x.shape for spec, x in zip(specs, inputs, strict=True))
        symbols = self.interface.bind(shapes).values
        try:
            with _limited(threads):
                outputs = self._run(inputs, symbols)
            return tuple(
                value if spec.is_object else np.array(value, spec.dtype, order="C")
                for spec, value in zip(self.interface.outputs, outputs, strict=True)
            )
        except MemoryError as error:
            message = f"the memory does not suffice for inputs {list(shapes)}: {error}"
            raise StepwellError("out-of-memory", None, message) from None


def _file_of(model: object) -> tuple[Path, tuple[int, ...]] | None:
    try:
        return (Path(model), stamp_of(Path(model))) if isinstance(model, str | Path) else None
    except OSError:
        return None  # the importer reports the error


def _interface(main: func.FuncOp) -> Interface:
    """The interface of a level-1 `@main`, in which sizes of outputs may still be those of a call."""
    interface = read_interface(main)
    told = {name for spec in interface.outputs for dim in spec.dims for name in dim.symbols()}
    return interface._replace(published=tuple(sorted(told - input_symbols(main))))


def _limited(threads: int) -> AbstractContextManager[object]:
    """At most so many threads in numpy's products, where `threadpoolctl` is installed."""
    pools = _pools() if threads < usable_cores() else None
    return nullcontext() if pools is None else pools.limit(limits=threads)


@cache
def _pools() -> Any:
    try:
        return import_module("threadpoolctl").ThreadpoolController()
    except ImportError:
        return None
