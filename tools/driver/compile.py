"""From a model to code that runs, or to the image of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from threading import RLock
from typing import TYPE_CHECKING, TypeGuard, Unpack, cast

from stepwell.runtime.collector import collector_paused, compiler_imports, late_methods
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage
from stepwell.runtime.log import logger
from stepwell.runtime.machine.cpu_features import process_triple
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.target import TargetDescription, expect_machine, runnable_levels
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.runtime.values.loading import model_of
from stepwell.tools.driver.kept_models import KeptModel, kept_model
from stepwell.tools.driver.log_spec import expect_log_spec
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import Model
    from stepwell.tools.driver.program import Program


_log = logger(__name__)
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
    Returns: the model as native code; call it with numpy arrays, `save` it. With `start="now"`, a model that
    answers by numpy until its code is ready (`stage`, `wait`).
    Threads can compile at the same time: they take turns.
    If this machine cannot run the target's code, calls of the model raise `wrong-cpu`.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    with collector_paused(), late_methods():
        expect_log_spec()
        options = options_with(options, keywords, ("threads", "progress"))
        threads = checked_threads(threads)
        if options.executor == "interpreter":
            return _interpreted(model, options)
        is_foreign = bool(_missing(_target_of(model, options)))
        kept = kept_model(model, options)
        image = _from_cache(kept)
        if is_foreign:
            return _foreign(image or _built(model, options, kept, progress))
        if image is None and options.start == "now":
            with TURN:
                with compiler_imports():
                    from stepwell.tools.driver.staged_model import staged_model
                if (staged := staged_model(model, options, kept, threads)) is not None:
                    return staged
        return model_of(image or _built(model, options, kept, progress), threads=threads)


def _interpreted(model: Model, options: CompileOptions) -> CompiledModel:
    """A program for the interpreter, with the interface of a compiled one."""
    with TURN:
        with compiler_imports():
            from stepwell.tools.driver.interpreted import interpreted_model

        return cast(CompiledModel, interpreted_model(model, options))


def _target_of(model: Model, options: CompileOptions) -> TargetDescription:
    """The target of a compilation. Raises: StepwellError `unknown-target`, `bad-option`."""
    return model.ctx.target if _is_program(model) else options.description()


def _is_program(model: Model) -> TypeGuard[Program]:
    """Whether a model is a program, without importing the class, which needs the whole compiler."""
    known = sys.modules.get("stepwell.tools.driver.program")
    return known is not None and isinstance(model, known.Program)


def _missing(target: TargetDescription) -> Sequence[str]:
    """Features of a target that this machine lacks."""
    return missing_features(target.triple, target.needed_features)


def _foreign(image: ModelImage) -> CompiledModel:
    """A model for another machine. Raises: StepwellError `wrong-cpu` for a program with functions or data."""
    from stepwell.runtime.rpc.foreign_model import ForeignModel

    if image.program:
        variant = image.main.variants[0]
        message = f"a program with functions or data for {variant.triple} is loaded by that machine alone"
        raise StepwellError("wrong-cpu", None, message, help="`stepwell compile --mcpu LEVEL -o FILE`")
    return ForeignModel(image)


def expect_runnable(options: CompileOptions) -> None:
    """Require a target whose code this machine runs. Raises: StepwellError `wrong-cpu`."""
    target = options.description()
    if not (missing := _missing(target)):
        return
    message = f"code for {target.triple} needs {', '.join(missing)}, which this machine lacks"
    help = f"here run {', '.join(runnable_levels())}; `stepwell compile --mcpu LEVEL -o FILE` is for others"
    raise StepwellError("wrong-cpu", None, message, note=f"this machine is {process_triple()}", help=help)


def build_image(model: Model, options: CompileOptions, *, progress: Progress | None = None) -> ModelImage:
    """
    Compile a model for any target, without loading its code.

    Raises: as `compile`, but for `wrong-cpu`; `no-source` for the interpreter, which has no image.
    """
    expect_log_spec()
    if options.executor == "interpreter":
        message = "the interpreter runs a program's text, which an artifact does not have"
        help = 'compile it with executor="auto", "native" or "vm"'
        raise StepwellError("no-source", None, message, help=help)
    kept = kept_model(model, options)
    return _from_cache(kept) or _built(model, options, kept, progress)


def _from_cache(kept: KeptModel | None) -> ModelImage | None:
    image = kept.load() if kept is not None else None
    _log(1, "the model is {}in the cache{}", *(("not ", "") if image is None else ("", ", so no pass runs")))
    return image


def _built(
    model: Model, options: CompileOptions, kept: KeptModel | None, progress: Progress | None
) -> ModelImage:
    """A model compiled by this process, and put into the cache."""
    with TURN:
        with compiler_imports():
            from stepwell.tools.driver.lower import lower_and_compile

        expect_machine(_target_of(model, options))
        return lower_and_compile(model, options, kept, progress)
