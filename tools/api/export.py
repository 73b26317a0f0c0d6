"""`stepwell.export`: a model as a file that programs in other languages link or load."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeGuard, Unpack, cast

from stepwell.lowering.export import (
    CProgram,
    Exported,
    ExportOptions,
    export_image,
    export_source,
    merged_program,
    with_place,
)
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.image import ModelImage
from stepwell.runtime.library import Library, joined_image
from stepwell.runtime.model import CompiledModel
from stepwell.tools.api.building import target_of
from stepwell.tools.api.module import Module
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.emit import c_program, for_c, image_with_pools
from stepwell.tools.driver.options import (
    CompileKeywords,
    CompileOptions,
    is_source_file,
    options_with,
    relaxed_options,
)
from stepwell.tools.driver.program import Program

if TYPE_CHECKING:
    from stepwell.tools.driver.options import ModelFile


def export(
    model: ModelFile | Module | CompiledModel | Library | Mapping[str, ModelFile | Module],
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    weights: Literal["embed", "file", "extern"] | None = None,
    host_calls: Literal["refuse", "callback"] = "refuse",
    stack: int | None = None,
    memory_pools: Mapping[str, int] | None = None,
    **options: Unpack[CompileKeywords],
) -> Exported:
    """
    Write a model as an object file or library with a header for programs in C, or for WebAssembly.

    Args: `model` as for `compile`, or an artifact's path, or a compiled model, or a library, whose functions
    share a header and weights, or models by name, which are compiled to be its functions; the suffix of
    `path` says what is written: `.o`, `.a`, `.so`, `.c`, `.tar`, a project for CMake, `.wasm`, or `.tgz`, a
    package of npm; the functions' names begin with `name` (default: the file's name); `weights` are in the
    file, in another one, or in memory of the program's (default: in the file, up to 1 GB); `host_calls`
    refuses operators that run in Python, or calls back for them; `stack` is the largest stack of a call, in
    bytes; `memory_pools` are memories of a program in C by name, with their bytes, the fastest first;
    `options` are those of `compile`.
    Raises: StepwellError `bad-option`, `bad-name`, `needs-host`, `too-large`, `unsupported-interface`,
    `cannot-write`; as `compile`. Nothing is left half written.
    """
    chosen = ExportOptions(name, weights or "embed", host_calls, stack, memory_pools)
    if isinstance(model, Mapping):
        return _export_library(model, Path(path), chosen, weights, options)
    if _is_source(model) and is_source_file(Path(path), options_with(None, options)):
        program = _c_program(model, options, chosen.pool_texts)
        return export_source(program, Path(path), with_place(chosen, weights, program.arrays))
    relaxed = None
    if _is_source(model):
        other = relaxed_options(options_with(None, options), Path(path))
        relaxed = None if other is None else _compiled(model, other)
    image = _image(model, options, chosen.pool_texts)
    return export_image(image, Path(path), with_place(chosen, weights, image.weights), relaxed)


def _export_library(
    models: Mapping[str, ModelFile | Module],
    path: Path,
    chosen: ExportOptions,
    weights: str | None,
    options: CompileKeywords,
) -> Exported:
    """Write models by name as the functions of a library."""
    own = options_with(None, options)
    if is_source_file(path, own):
        programs = {name: _c_program(model, options, chosen.pool_texts) for name, model in models.items()}
        program = merged_program(programs)
        return export_source(program, path, with_place(chosen, weights, program.arrays))
    other = relaxed_options(own, path)
    relaxed = None if other is None else _library(models, other)
    image = _library(models, own, chosen.pool_texts)
    return export_image(image, path, with_place(chosen, weights, image.weights), relaxed)


def _library(
    models: Mapping[str, ModelFile | Module], options: CompileOptions, pools: Sequence[str] = ()
) -> ModelImage:
    """The image of a library of models that are compiled here."""
    return joined_image({name: _compiled(model, options, pools) for name, model in models.items()})


def _compiled(model: ModelFile | Module, options: CompileOptions, pools: Sequence[str] = ()) -> ModelImage:
    """The image of a model that is not compiled yet, with its memory in pools, if there are any."""
    if pools:
        program = model if not isinstance(model, Module) else _copy(model, options)
        return image_with_pools(program, options, pools)
    return model.compile(options).image if isinstance(model, Module) else build_image(model, options)


def _image(
    model: ModelFile | Module | CompiledModel | Library, options: CompileKeywords, pools: Sequence[str]
) -> ModelImage:
    """The image of a model, which is compiled unless it is."""
    if _is_source(model):
        return _compiled(model, options_with(None, options), pools)
    if options:
        message = f"{next(iter(options))} is for compiling, and the model is compiled already"
        raise StepwellError("bad-option", None, message, help="give it the model's own file")
    return (
        model.image if isinstance(model, (CompiledModel, Library)) else load_image(cast("str | Path", model))
    )


def _c_program(model: ModelFile | Module, options: CompileKeywords, pools: Sequence[str]) -> CProgram:
    """The program in C of a model."""
    chosen = options_with(None, options)
    if not isinstance(model, Module):
        return c_program(model, chosen, pools)
    chosen = for_c(chosen)
    return c_program(_copy(model, chosen), chosen, pools)


def _copy(model: Module, options: CompileOptions) -> Program:
    """A copy of a module for the target of the options."""
    copy = model.clone()
    copy.context.target = target_of(options)
    return Program(copy.op, copy.context)


def _is_source(model: ModelFile | Module | CompiledModel | Library) -> TypeGuard[ModelFile | Module]:
    """Whether a model is no machine code yet."""
    is_artifact = isinstance(model, (str, Path)) and Path(model).suffix == ".stepwell"
    return not (is_artifact or isinstance(model, (CompiledModel, Library)))
