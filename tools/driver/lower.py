"""Lowering of a model: import, level 1, then kernels and a `@main` that calls them (level 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.verify import verify_module
from stepwell.lowering.kernels.pool import workers_for
from stepwell.lowering.kernels.worker import started
from stepwell.passes.pipelines import WORK_PIPELINE, expect_needed_passes
from stepwell.runtime.child import Child
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import target_from
from stepwell.runtime.machine.tile_shares import with_kept_shares
from stepwell.runtime.memory import aligned_empty
from stepwell.tools.driver.image import Compilation, Progress, check_main, compile_image, main_of
from stepwell.tools.driver.kept_models import KeptModel
from stepwell.tools.driver.levels import chosen_passes, is_lowered, to_kernel_functions, to_level_1
from stepwell.tools.driver.model_attribute import image_of, is_on_loops
from stepwell.tools.driver.model_interface import read_interface, require_ranks
from stepwell.tools.driver.partitions import compile_partitions
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.requested_backends import expect_backends

if TYPE_CHECKING:
    from stepwell.frontend.source import Source
    from stepwell.tools.driver.options import CompileOptions, Model, ModelFile


def lower_and_compile(
    model: Model, options: CompileOptions, kept: KeptModel | None, progress: Progress | None
) -> ModelImage:
    """
    The image of a compiled model; stored in the model cache where `kept` is given.

    Raises: StepwellError of the step that failed.
    """
    from stepwell.frontend.source import open_model

    expect_backends(options)
    source = None if isinstance(model, Program) or _is_ir(model) else open_model(model)
    nodes = 0 if source is None else len(source.model.graph.node)
    with collector_paused(), started(workers_for(nodes, options.processes)) as children:
        image = _lowered(model if source is None else source, options, children, progress)
    if kept is not None and source is not None and not source.warned:  # a warning is repeated each time
        kept.store(image, source.files.opened)
    return image


def _lowered(
    model: Model | Source, options: CompileOptions, children: list[Child], progress: Progress | None
) -> ModelImage:
    """The image of a compiled model; `children` are processes for workers. Raises: StepwellError."""
    compilation = start(model, options)
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
        timed=options.profile,
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


def start(model: Model | Source, options: CompileOptions) -> Compilation:
    """
    Import a model: level 0. A program is compiled in place, for the target of its context.

    Raises: StepwellError for a file that is no valid model, unknown backends.
    """
    expect_backends(options)
    if isinstance(model, Program):
        compilation = Compilation(model.module, model.ctx)
        model.ctx.target = with_kept_shares(model.ctx.target)
    else:
        ctx = StepwellContext()
        ctx.target = with_kept_shares(target_from(options.mcpu, options.target))
        compilation = Compilation(ModuleOp([]), ctx, owns_weights=True)
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
        from stepwell.dialects.onnx.input_shapes import set_input_shapes

        compilation.resized = set_input_shapes(main_of(compilation.module), options.input_shapes)
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


def _is_ir(model: object) -> TypeGuard[str | Path]:
    """Whether a model is a file of IR as text."""
    return isinstance(model, str | Path) and Path(model).suffix == ".mlir"


def read_module(model: ModelFile | Source, ctx: StepwellContext) -> ModuleOp:
    """A model, or IR as text (.mlir), as a verified module. Raises: StepwellError."""
    if _is_ir(model):
        from stepwell.tools.driver.ir_files import read_ir

        module = read_ir(Path(model), ctx)
        verify_module(module)
        return module
    from stepwell.frontend import import_onnx

    return import_onnx(model, ctx)


def to_level_2(compilation: Compilation, options: CompileOptions) -> None:
    """From kernels of graph ops to kernel functions on tensors; partitions of backends are compiled."""
    if is_lowered(compilation.module):
        return
    expect_needed_passes(chosen_passes(options).disabled_pass)
    compile_partitions(compilation, options)
    to_kernel_functions(compilation, options)
