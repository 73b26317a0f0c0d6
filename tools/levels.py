"""A model on its way down: read it, then level by level to kernels and a `@main` that calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.verify import verify_module
from stepwell.passes.context import PassContext
from stepwell.runtime.artifact import ModelImage
from stepwell.runtime.cache import KernelCache
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.memory import aligned_empty
from stepwell.runtime.target import TargetDescription, target_from
from stepwell.runtime.tile_shares import with_kept_shares
from stepwell.tools.compilation import (
    Compilation,
    Progress,
    check_main,
    compile_image,
    kernels_of,
    main_of,
    read_interface,
    require_ranks,
)
from stepwell.tools.kept_models import KeptModel
from stepwell.tools.model_attribute import image_of, is_on_loops
from stepwell.tools.partitions import available_backends, compile_partitions, expect_backends
from stepwell.tools.pipelines import FROM_ONNX, expect_needed_passes, graph_pipeline

if TYPE_CHECKING:
    from stepwell.frontend.source import Source
    from stepwell.tools.driver import CompileOptions, Model


def lower_and_compile(
    model: Model, options: CompileOptions, kept: KeptModel | None, progress: Progress | None
) -> ModelImage:
    """
    Everything that a compiled model consists of; kept for the next time where `kept` is given.

    Raises: StepwellError of the step that failed.
    """
    from stepwell.frontend.source import open_model

    source = open_model(model) if kept is not None else None
    with collector_paused():
        compilation = start(model if source is None else source, options)
        if is_on_loops(compilation.module):
            return image_of(compilation)
        to_level_1(compilation, options)
        interface = read_interface(main_of(compilation.module))
        if options.profile and not is_lowered(compilation.module):
            compilation.run("graph", "annotate-work")
        to_level_2(compilation, options)
    chosen = PassContext.current().chooses_passes  # which neither a kernel's key nor a worker knows of
    image = compile_image(
        compilation,
        interface,
        KernelCache() if options.use_cache and not chosen else None,
        timed=options.profile,
        processes=1 if chosen else options.processes,
        progress=progress,
    )
    if options.memory == "low":
        image = replace(image, weights=_own(image.weights))
    if kept is not None and source is not None and not source.warned:  # a warning is for every time
        kept.store(image, source.files.opened)
    return image


def _own(weights: Sequence[Array]) -> tuple[Array, ...]:
    """Weights in memory of their own, aligned for kernels: of the model's file nothing stays mapped."""
    copies = {id(array): array for array in weights}
    for key, array in copies.items():
        copies[key] = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
        copies[key][...] = array
    return tuple(copies[id(array)] for array in weights)


def start(model: Model | Source, options: CompileOptions) -> Compilation:
    """Import a model: level 0. Raises: StepwellError for a file that is no valid model, unknown backends."""
    expect_backends(options)
    ctx = StepwellContext()
    ctx.target = with_kept_shares(target_from(options.mcpu, options.target))
    compilation = Compilation(ModuleOp([]), ctx)
    with compilation.timed("import"):
        compilation.module = read_module(model, ctx)
    if is_lowered(compilation.module):
        _expect_defaults(options, compilation.module)
    if is_on_loops(compilation.module):
        return compilation
    check_main(compilation.module)
    ops = main_of(compilation.module).body.block.ops
    not_nodes = (onnx.ConstantOp, graph.ConstantOp, func.ReturnOp)
    compilation.counts["nodes"] = sum(not isinstance(op, not_nodes) for op in ops)
    if options.input_shapes:
        from stepwell.passes.onnx.set_input_shapes import set_input_shapes

        set_input_shapes(main_of(compilation.module), options.input_shapes)
    require_ranks(main_of(compilation.module))
    return compilation


_OF_LEVEL_1 = ("input_shapes", "backends", "disabled_passes", "required_passes", "opt_level", "winograd")


def _expect_defaults(options: CompileOptions, module: ModuleOp) -> None:
    """Refuse options of level 1 for a program that is below it. Raises: StepwellError `bad-option`."""
    default = type(options)()
    for name in _OF_LEVEL_1:
        if getattr(options, name) != getattr(default, name):
            message = f"{name} can be chosen above level 2 only: below, it is in the code already"
            raise StepwellError("bad-option", module, message)


def read_module(model: Model | Source, ctx: StepwellContext) -> ModuleOp:
    """A model, or IR as text (.mlir), as a verified module. Raises: StepwellError."""
    if isinstance(model, str | Path) and Path(model).suffix == ".mlir":
        from stepwell.tools.ir_files import read_ir

        module = read_ir(Path(model), ctx)
        verify_module(module)
        return module
    from stepwell.frontend import import_onnx

    return import_onnx(model, ctx)


def is_lowered(module: ModuleOp) -> bool:
    """Whether a module is on level 2, or below."""
    return is_on_loops(module) or bool(kernels_of(module))


def to_level_1(compilation: Compilation, options: CompileOptions) -> None:
    """From the model as it is to the graph dialect, optimized, kernels decided; level 2 stays as it is."""
    if is_lowered(compilation.module):
        return
    context = _chosen_passes(options).at_level(options.opt_level)
    with context.active():
        compilation.run("onnx to graph", FROM_ONNX)
        compilation.run("graph", pipeline_of(options, compilation.ctx.target, context))


def _chosen_passes(options: CompileOptions) -> PassContext:
    return PassContext.current().choosing(options.required_passes, options.disabled_passes)


def pipeline_of(options: CompileOptions, target: TargetDescription, context: PassContext) -> str:
    """The passes of level 1 that options and the pass context ask for."""
    return graph_pipeline(
        options.opt_level,
        target,
        options.winograd,
        available_backends(options),
        low_memory=options.memory == "low",
        required=context.required_pass,
        disabled=context.disabled_pass,
    )


def to_level_2(compilation: Compilation, options: CompileOptions) -> None:
    """From kernels of graph ops to kernel functions on tensors; partitions of backends are compiled."""
    if is_lowered(compilation.module):
        return
    expect_needed_passes(_chosen_passes(options).disabled_pass)
    compile_partitions(compilation, options)
    compilation.run("graph to linalg", "convert-graph-to-linalg")
