"""`stepwell.compile`: from a model or a module to code that runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, Unpack, cast

from stepwell.frontend.formats import with_keywords
from stepwell.runtime.errors import StepwellError
from stepwell.tools.api.building import built
from stepwell.tools.api.source import SameFile
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with

if TYPE_CHECKING:  # the compiler itself is imported when something is to be compiled
    from xdsl.dialects.builtin import ModuleOp

    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.api.module import Module
    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import ModelFile


def compile(
    model: ModelFile | Module | object,
    options: CompileOptions | None = None,
    *,
    example_inputs: object = None,
    dynamic_shapes: object = None,
    check_guards: bool = True,
    weights_from: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CompileKeywords],
) -> CompiledModel:
    """
    Compile a model.

    Args: `model` is the path of a model or of IR as text (.mlir), the bytes of an ONNX file, a model in
    memory of any kind in docs/frontends, a `stepwell.Module`, or a `ModuleOp` of xDSL's; `example_inputs`
    are arguments of a program of Python, a tuple or a dictionary by name, and `dynamic_shapes` its open
    sizes, such as `{"x": {0: "N"}}`; with `check_guards` calls with sizes that torch did not export the
    program for are errors; `weights_from` is a safetensors file, or an index of several, for a module on
    torch's device `meta`; `options`, or single fields of `CompileOptions` as keywords; `threads` that kernels
    may use when it runs (default: all cores); `progress(step, done, total)` is called while kernels compile.
    Returns: the model as native code; call it with numpy arrays, `save` it. With `start="now"`, a model that
    answers by numpy until its code is ready (`stage`, `wait`).
    Threads can compile at the same time: they take turns.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    of_reader: dict[str, object] = {"example_inputs": example_inputs, "dynamic_shapes": dynamic_shapes}
    of_reader["check_guards"] = None if check_guards else False
    of_reader["weights_from"] = None if weights_from is None else Path(weights_from)
    given = [name for name, value in of_reader.items() if value is not None]
    if is_ir_in_memory(model):
        from stepwell.tools.api.module import Module

        model = Module(model).verify()
    if _is_module(model):
        if given:
            raise StepwellError("bad-model", None, f"a stepwell.Module has types: it needs no {given[0]}")
        return model.compile(options, threads=threads, progress=progress, **keywords)
    chosen = options_with(options, keywords, (*of_reader, "threads", "progress"))
    source = with_keywords(model, of_reader)
    return built(SameFile(cast("ModelFile", source)), chosen, threads, progress)


def is_ir_in_memory(model: object) -> TypeGuard[ModuleOp]:
    """Whether an object is an op of xDSL's, without importing xDSL."""
    known = sys.modules.get("xdsl.dialects.builtin")
    return known is not None and isinstance(model, known.ModuleOp)


def _is_module(model: object) -> TypeGuard[Module]:
    """Whether an object is a module, without importing the class, which needs the whole compiler."""
    known = sys.modules.get("stepwell.tools.api.module")
    return known is not None and isinstance(model, known.Module)
