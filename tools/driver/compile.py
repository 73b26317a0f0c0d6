"""From a model to code that runs, or to the image of it."""

from __future__ import annotations

import logging
from threading import RLock
from typing import TYPE_CHECKING, Unpack

from stepwell.runtime.image import ModelImage
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.tools.driver.kept_models import kept_model
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import Model


_LOG = logging.getLogger(__name__)
TURN = RLock()
"""
The lock of the running passes of this process, which share state; kernels have processes of their own.
"""


def compile(
    model: Model,
    options: CompileOptions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CompileKeywords],
) -> CompiledModel:
    """
    Compile a model.

    Args: `model` is a path to an .onnx or .mlir file, the bytes of an ONNX file, an `onnx.ModelProto` or a
    `Program`; `options`, or single fields of `CompileOptions` as keywords; `threads` that kernels may use
    when it runs (default: all cores).
    Returns: the model as native code; call it with numpy arrays, `save` it.
    Threads may compile at the same time: they take turns.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    options = options_with(options, keywords, ("threads", "progress"))
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
        with TURN:
            from stepwell.tools.driver.lower import lower_and_compile

            image = lower_and_compile(model, options, kept, progress)
    return image
