"""A program of tensors, from level 1 to an image: kernels and a `@main` that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.kernels.early import Started
from stepwell.passes import run_pipeline
from stepwell.passes.graph_pipeline import expect_needed_passes
from stepwell.passes.pipelines import TOKENS_PIPELINE, WORK_PIPELINE
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import GREEDY, MAIN, ModelImage
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.memory import aligned_empty
from stepwell.tools.driver.compilation import Compilation, is_lowered, is_on_loops, main_of, passes_to_level_1
from stepwell.tools.driver.devices.chosen import places_ops
from stepwell.tools.driver.devices.refused_ops import with_refused_on_host
from stepwell.tools.driver.image import Progress, compile_image
from stepwell.tools.driver.levels import chosen_passes, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.versions.fixed_sizes import (
    expect_growing_states,
    sizes_of_versions,
    version_of,
    with_function,
    with_version,
)
from stepwell.tools.records.files import database_files

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions


def compile_module(
    compilation: Compilation, options: CompileOptions, started: Started | None, progress: Progress | None
) -> ModelImage:
    """
    The image of a program of tensors, on any level.

    The nodes for which a device has no code are compiled for the host, in another attempt.
    Raises: StepwellError.
    """
    if not places_ops(options):
        return _compile_module(compilation, options, started, progress)
    original, attempts = compilation.module.clone(), count()

    def attempt(options: CompileOptions) -> ModelImage:
        if next(attempts):
            compilation.module, compilation.reproducer = original.clone(), None
        return _compile_module(compilation, options, started, progress)

    return with_refused_on_host(options, attempt)


def _compile_module(
    compilation: Compilation, options: CompileOptions, started: Started | None, progress: Progress | None
) -> ModelImage:
    """The image of a program of tensors, on any level. Raises: StepwellError."""
    if is_on_loops(compilation.module):
        from stepwell.tools.driver.model_attribute import image_of  # seldom needed, and imports LLVM

        return image_of(compilation)
    options = with_tuned_plan(compilation, options)
    to_level_1(compilation, options)
    interface = read_interface(main_of(compilation.module))
    asked = sizes_of_versions(options, interface, compilation.module)
    versions = [(MAIN, sizes, version_of(compilation, sizes)) for sizes in asked]
    if options.greedy:
        expect_growing_states(interface)
        tokens = version_of(compilation, {})
        tokens.run("graph", TOKENS_PIPELINE)
        versions += [(GREEDY, {}, tokens), *((GREEDY, sizes, version_of(tokens, sizes)) for sizes in asked)]
    image = _compiled(compilation, interface, options, started, progress)
    own = replace(options, schedules=None)  # scripts are for the kernels of any size
    for name, sizes, version in versions:
        fixed = read_interface(main_of(version.module))
        made = _compiled(version, fixed, own, None, progress)
        image = with_version(image, sizes, made, name) if sizes else with_function(image, name, made)
    return image._replace(weights=_own(image.weights)) if options.memory == "low" else image


def _compiled(
    compilation: Compilation,
    interface: Interface,
    options: CompileOptions,
    started: Started | None,
    progress: Progress | None,
) -> ModelImage:
    """The image of a program of level 1 or 2."""
    if options.profile and not is_lowered(compilation.module):
        compilation.run("graph", WORK_PIPELINE)
    to_level_2(compilation, options)
    use_tuned(compilation, options)
    return compile_image(
        compilation,
        interface,
        KernelCache() if options.use_cache else None,
        passes=chosen_passes(options),
        timed=options.profile,
        keep=options.keep_values,
        processes=options.processes,
        started=started,
        progress=progress,
    )


def with_tuned_plan(compilation: Compilation, options: CompileOptions) -> CompileOptions:
    """
    The options with the choices for the whole model in their databases, for a model above level 1's passes.

    Raises: StepwellError `no-file`, `cannot-access`, `too-large`.
    """
    files = database_files(options.tuning_db)
    if not files or is_lowered(compilation.module):
        return options
    from stepwell.tools.records.plans import with_plan  # seldom needed

    target = compilation.ctx.target
    return with_plan(compilation.module, options, target, files, lambda: on_level_1(compilation))


def on_level_1(compilation: Compilation) -> ModuleOp:
    """A copy of a model, on level 1, where its nodes have types. Raises: StepwellError."""
    copy = compilation.module.clone()
    run_pipeline(copy, passes_to_level_1(copy), compilation.ctx.clone())
    return copy


def use_tuned(compilation: Compilation, options: CompileOptions) -> None:
    """
    Give the kernels of level 2 the schedules of the databases of the options.

    Raises: StepwellError `no-file`, `cannot-access`, `too-large`.
    """
    if files := database_files(options.tuning_db):
        from stepwell.tools.records.apply import apply_records  # seldom needed

        target, transfer = compilation.ctx.target, options.transfer
        used, _ = apply_records(compilation.module, compilation.ctx, target, files, transfer=transfer)
        compilation.counts["tuned"] = used


def _own(weights: Sequence[Array]) -> tuple[Array, ...]:
    """Copies of weights, aligned for kernels, so that the model's file need not stay mapped."""
    copies = {id(array): array for array in weights}
    for key, array in copies.items():
        copies[key] = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
        copies[key][...] = array
    return tuple(copies[id(array)] for array in weights)


def to_level_2(compilation: Compilation, options: CompileOptions) -> None:
    """
    From kernels of graph ops to kernel functions on tensors; partitions of backends are compiled, and scripts
    of schedules replayed.
    """
    if not is_lowered(compilation.module):
        expect_needed_passes(chosen_passes(options).disabled_pass)
        compile_partitions(compilation, options)
        to_kernel_functions(compilation, options)
    if options.schedules is not None:
        from stepwell.tools.driver.schedules.replay_scripts import apply_schedules  # seldom needed

        apply_schedules(compilation, options, options.schedules)
