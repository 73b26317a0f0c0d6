"""`stepwell.compile`: from a model to code that runs."""

from __future__ import annotations

import logging
from threading import RLock
from typing import TYPE_CHECKING

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.artifact import ModelImage
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.tools.driver.kept_models import kept_model
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import Model


_LOG = logging.getLogger(__name__)
_COMPILING = RLock()
"""
The lock of the running compilation of this process: passes share state; kernels have processes of their own.
"""


def compile(
    model: Model,
    options: CompileOptions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **overrides: object,
) -> CompiledModel:
    """
    Compile a model.

    Args: `model` is a path to an .onnx file, its bytes or an `onnx.ModelProto`; `options`, or single fields
    of `CompileOptions` as keywords; `threads` that kernels may use when it runs (default: all cores).
    Returns: the model as native code; call it with numpy arrays, `save` it.
    Threads may compile at the same time: they take turns.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    from dataclasses import fields, replace

    known = [*(option.name for option in fields(CompileOptions)), "threads"]
    if unknown := [name for name in overrides if name not in known]:
        raise StepwellError(
            "bad-option",
            None,
            f"there is no option {unknown[0]!r}",
            help=f"{did_you_mean(unknown[0], known)}the options are {', '.join(known)}",
        )
    options = CompileOptions() if options is None else options
    if not isinstance(options, CompileOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise StepwellError("bad-option", None, f"options must be CompileOptions, found {options!r}")
    options = replace(options, **overrides)  # pyright: ignore[reportArgumentType]
    threads = checked_threads(threads)
    return CompiledModel(build_image(model, options, progress=progress), threads=threads)


def build_image(model: Model, options: CompileOptions, *, progress: Progress | None = None) -> ModelImage:
    """
    Compile a model for any target, without loading its code.

    Raises: as `compile`, but for `wrong-cpu`.
    """
    kept = kept_model(model, options)
    image = kept.load() if kept is not None else None
    _LOG.debug("the model is%s in the cache", "" if image is not None else " not")
    if image is None:
        with _COMPILING:
            from stepwell.tools.driver.lower import lower_and_compile

            image = lower_and_compile(model, options, kept, progress)
    return image
