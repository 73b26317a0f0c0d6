"""Lowering of a model: import, level 1, then kernels and a `@main` that calls them (level 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepwell.lowering.kernels.pool import workers_for
from stepwell.lowering.kernels.worker import started
from stepwell.passes.pass_limit import numbered
from stepwell.passes.pipelines import WORK_PIPELINE, expect_needed_passes
from stepwell.runtime.child import Child
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.memory import aligned_empty
from stepwell.tools.driver.compilation import (
    Compilation,
    is_bytecode,
    is_functional,
    is_lowered,
    is_on_loops,
    main_of,
)
from stepwell.tools.driver.image import Progress, compile_image
from stepwell.tools.driver.kept_models import KeptModel
from stepwell.tools.driver.levels import chosen_passes, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_attribute import image_of
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import check_program, is_ir, start
from stepwell.tools.driver.requested_backends import expect_backends

if TYPE_CHECKING:
    from stepwell.frontend.source import Source
    from stepwell.tools.driver.options import CompileOptions, Model


def lower_and_compile(
    model: Model, options: CompileOptions, kept: KeptModel | None, progress: Progress | None
) -> ModelImage:
    """
    The image of a compiled model; stored in the model cache where `kept` is given.

    Raises: StepwellError of the step that failed.
    """
    from stepwell.frontend.source import open_model

    expect_backends(options)
    source = None if isinstance(model, Program) or is_ir(model) else open_model(model)
    nodes = 0 if source is None else len(source.model.graph.node)
    with collector_paused(), numbered(), started(workers_for(nodes, options.processes)) as children:
        image = _lowered(model if source is None else source, options, children, progress)
    if kept is not None and source is not None and not source.warned:  # a warning is repeated each time
        kept.store(image, source.files.opened)
    return image


def _lowered(
    model: Model | Source, options: CompileOptions, children: list[Child], progress: Progress | None
) -> ModelImage:
    """The image of a compiled model; `children` are processes for workers. Raises: StepwellError."""
    compilation = start(model, options)
    if is_bytecode(compilation.module) or is_functional(compilation.module):
        from stepwell.tools.driver.functional import compile_functional, without_functions

        if is_bytecode(compilation.module) or not without_functions(compilation):
            return compile_functional(compilation, options)
        check_program(compilation, options)
    return compile_module(compilation, options, children, progress)


def compile_module(
    compilation: Compilation, options: CompileOptions, children: list[Child] | None, progress: Progress | None
) -> ModelImage:
    """The image of a program of tensors, on any level. Raises: StepwellError."""
    if is_on_loops(compilation.module):
        return image_of(compilation)
    to_level_1(compilation, options)
    interface = read_interface(main_of(compilation.module))
    if options.profile and not is_lowered(compilation.module):
        compilation.run("graph", WORK_PIPELINE)
    to_level_2(compilation, options)
    image = compile_image(
        compilation,
        interface,
        KernelCache() if options.use_cache else None,
        passes=chosen_passes(options),
        timed=options.profile,
        keep=options.keep_values,
        processes=options.processes,
        children=children,
        progress=progress,
    )
    return image._replace(weights=_own(image.weights)) if options.memory == "low" else image


def _own(weights: Sequence[Array]) -> tuple[Array, ...]:
    """Copies of weights, aligned for kernels, so that the model's file need not stay mapped."""
    copies = {id(array): array for array in weights}
    for key, array in copies.items():
        copies[key] = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
        copies[key][...] = array
    return tuple(copies[id(array)] for array in weights)


def to_level_2(compilation: Compilation, options: CompileOptions) -> None:
    """From kernels of graph ops to kernel functions on tensors; partitions of backends are compiled."""
    if is_lowered(compilation.module):
        return
    expect_needed_passes(chosen_passes(options).disabled_pass)
    compile_partitions(compilation, options)
    to_kernel_functions(compilation, options)
