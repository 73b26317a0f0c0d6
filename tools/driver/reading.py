"""Reading of models and programs: level 0, or the level of a text."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import SHARE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.tile_shares import with_kept_shares
from stepwell.tools.driver.compilation import (
    Compilation,
    check_main,
    conversion_of,
    is_bytecode,
    is_functional,
    is_lowered,
    is_on_loops,
    main_of,
    passes_to_level_1,
)
from stepwell.tools.driver.model_interface import read_interface, require_ranks
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.requested_backends import expect_backends
from stepwell.tools.driver.written_program import verify_written

if TYPE_CHECKING:
    from stepwell.frontend.source import Source
    from stepwell.runtime.files.weights import WeightStore
    from stepwell.runtime.interface import Interface
    from stepwell.tools.driver.options import CompileOptions, Model, ModelFile


def start(model: Model | Source, options: CompileOptions, weights: WeightStore | None = None) -> Compilation:
    """
    Import a model: level 0. A program is compiled in place, for the target of its context.

    Args: `weights` is the store for a model's weights (default: a store by hash).
    Raises: StepwellError for an invalid model and for unknown backends.
    """
    expect_backends(options)
    if isinstance(model, Program):
        compilation = Compilation(model.module, model.ctx)
        model.ctx.target = replace(with_kept_shares(model.ctx.target), debug_info=options.debug_info)
    else:
        ctx = StepwellContext()
        if weights is not None:
            ctx.weights = weights
        target = with_kept_shares(options.description())
        ctx.target = replace(target, debug_info=options.debug_info)
        compilation = Compilation(ModuleOp([]), ctx, owns_weights=True)
        with compilation.timed("import"):
            compilation.module = read_module(model, ctx)
    if options.unsupported != "error":
        from stepwell.dialects import torch

        compilation.module.attributes[torch.UNSUPPORTED] = StringAttr(options.unsupported)
    if is_lowered(compilation.module):
        _expect_defaults(options, compilation.module)
    module = compilation.module
    if not (is_on_loops(module) or is_functional(module) or is_bytecode(module)):
        check_program(compilation, options)
    return compilation


def check_program(compilation: Compilation, options: CompileOptions) -> None:
    """
    Check a program of tensors before it is compiled: count its nodes, and apply the options about its inputs.

    Raises: StepwellError `no-main`, `bad-main`, `too-large`, and errors of `set_input_shapes`.
    """
    check_main(compilation.module)
    ops = main_of(compilation.module).body.block.ops
    not_nodes = (onnx.ConstantOp, graph.ConstantOp, func.ReturnOp)
    compilation.counts["nodes"] = sum(not isinstance(op, not_nodes) for op in ops)
    if options.input_shapes:
        from stepwell.dialects.onnx.input_shapes import set_input_shapes

        compilation.resized = set_input_shapes(main_of(compilation.module), options.input_shapes)
    if options.states:
        capacity = "" if options.capacity is None else f" capacity={options.capacity}"
        names = ",".join(f'"{name}"' for name in options.states)
        compilation.run("import", f"bind-states{{pairs={names}{capacity}}}")
    require_ranks(main_of(compilation.module))


def interface_of(model: Model, options: CompileOptions) -> Interface:
    """
    The interface of a model without compiling it; if inputs have open sizes, with the checks of these.

    Raises: StepwellError as `start` and `read_interface`.
    """
    compilation = start(model, options)
    if options.states and not is_lowered(compilation.module):  # states have one type on level 1 only
        run_pipeline(compilation.module, passes_to_level_1(compilation.module), compilation.ctx)
    interface = read_interface(main_of(compilation.module))
    if is_lowered(compilation.module) or all(d.is_static for spec in interface.inputs for d in spec.dims):
        return interface
    with suppress(StepwellError):  # the compilation will report it
        run_pipeline(compilation.module, conversion_of(compilation.module), compilation.ctx)
        return read_interface(main_of(compilation.module))
    return interface


_OF_LEVEL_1 = (
    *("specialize", "input_shapes", "states", "capacity", "greedy", "backends", "disabled_passes"),
    *("required_passes", "opt_level", "winograd", "strategies", "activations", "precision", "keep_f32"),
)


def _expect_defaults(options: CompileOptions, module: ModuleOp) -> None:
    """Refuse options of level 1 for a program that is below it. Raises: StepwellError `bad-option`."""
    default, on_level_2 = type(options)(), {step.name for step in SHARE}
    options = replace(
        options, disabled_passes=tuple(n for n in options.disabled_passes if n not in on_level_2)
    )
    for name in _OF_LEVEL_1:
        if getattr(options, name) != getattr(default, name):
            message = f"{name} applies above level 2 only, and this program is on level 2 or below"
            raise StepwellError("bad-option", module, message)


def is_ir(model: object) -> TypeGuard[str | Path]:
    """Whether a model is a file of IR as text."""
    return isinstance(model, str | Path) and Path(model).suffix == ".mlir"


def read_module(model: ModelFile | Source, ctx: StepwellContext) -> ModuleOp:
    """A model, or IR as text (.mlir), as a verified module. Raises: StepwellError."""
    if is_ir(model):
        from stepwell.tools.driver.ir_files import read_ir

        module = read_ir(Path(model), ctx)
        verify_written(module)
        return module
    from stepwell.frontend.formats import PythonModel, read_model
    from stepwell.frontend.source import Source

    if isinstance(model, Source):
        from stepwell.frontend.importer import import_onnx

        return import_onnx(model, ctx)
    if isinstance(model, PythonModel):
        return read_model(model.model, ctx, model.keywords)
    return read_model(model, ctx)
