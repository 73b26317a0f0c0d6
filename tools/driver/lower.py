"""From a model to its image: import, then one program of tensors, or bytecode with several."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from stepwell.lowering.kernels.all_kernels import workers_for
from stepwell.lowering.kernels.early import Started, early_process, started
from stepwell.passes.pass_limit import numbered
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.collector import collector_paused, compiler_imports
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.image import ModelImage
from stepwell.tools.driver.compilation import is_bytecode, is_functional
from stepwell.tools.driver.image import Progress
from stepwell.tools.driver.kept_models import KeptModel
from stepwell.tools.driver.levels import to_graph
from stepwell.tools.driver.program import Program
from stepwell.tools.driver.reading import check_program, is_ir, start
from stepwell.tools.driver.requested_backends import expect_backends
from stepwell.tools.driver.tensor_program import compile_module

if TYPE_CHECKING:
    from stepwell.frontend.source import ModelSource, Source
    from stepwell.tools.driver.options import CompileOptions, Model


def lower_and_compile(
    model: Model, options: CompileOptions, kept: KeptModel | None, progress: Progress | None
) -> ModelImage:
    """
    The image of a compiled model; stored in the model cache where `kept` is given.

    Raises: StepwellError of the step that failed.
    """
    expect_backends(options)
    is_program = isinstance(model, Program) or is_ir(model)
    with collector_paused(), numbered(), ExitStack() as stack:
        early = None
        if not is_program:
            early = stack.enter_context(early_process(options.processes, options.description))
        with compiler_imports():  # which the early process does without
            from stepwell.frontend.formats import is_onnx
            from stepwell.frontend.source import open_model

        source = None if is_program or not is_onnx(model) else open_model(cast("ModelSource", model))
        nodes = 0 if source is None else len(source.model.graph.node)
        children = stack.enter_context(started(workers_for(nodes, options.processes)))
        weights = WeightStore()
        processes = Started(children, early, beside_main=() if kept is None else (kept.prepare,))
        image = _lowered(model if source is None else source, options, weights, processes, progress)
    if kept is not None and not (source is not None and source.warned):  # a warning is repeated each time
        kept.store(image, weights.files_beside(kept.path) if source is None else source.files.opened)
    return image


def _lowered(
    model: Model | Source,
    options: CompileOptions,
    weights: WeightStore,
    processes: Started,
    progress: Progress | None,
) -> ModelImage:
    """
    The image of a compiled model.

    Args: `weights` is a store for those of a model; `processes` are those that wait for kernels.
    Raises: StepwellError.
    """
    from stepwell.frontend.source import Source

    compilation = start(model, options, weights)
    if isinstance(model, Source):  # read again after a failure: a copy takes 15 us an op, and its memory
        compilation.reproducer = Reproducer(lambda: start(model, options, compilation.ctx.weights).module)
    if options.executor == "vm" or is_bytecode(compilation.module) or is_functional(compilation.module):
        from stepwell.tools.driver.functional import compile_functional, without_functions  # seldom needed

        if is_bytecode(compilation.module):
            return compile_functional(compilation, options)
        if not is_functional(compilation.module):
            to_graph(compilation)
        if not without_functions(compilation) or options.executor == "vm":
            return compile_functional(compilation, options)
        check_program(compilation, options)
    return compile_module(compilation, options, processes, progress)
