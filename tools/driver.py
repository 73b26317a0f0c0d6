"""`stepwell.compile`: from a model to code that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.target import target_from
from stepwell.tools.compilation import (
    Compilation,
    Progress,
    check_main,
    compile_image,
    main_of,
    read_interface,
    require_ranks,
)
from stepwell.tools.pipelines import FROM_ONNX, graph_pipeline

if TYPE_CHECKING:
    from onnx import ModelProto

    Source = str | Path | bytes | ModelProto


@dataclass(frozen=True)
class CompileOptions:
    """What a user may choose; the same names as on the command line."""

    mcpu: str = "host"
    """`host`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4` or `aarch64`."""
    target: str | None = None
    """An LLVM triple; default: this machine's."""
    opt_level: int = 2
    """0 keeps every digit of the reference, 2 is the default."""
    input_shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Fixed shapes for inputs whose dimensions the model leaves open."""
    use_cache: bool = True
    processes: int | None = None
    """How many kernels compile at once; default: one a core."""


def compile(
    model: Source,
    options: CompileOptions | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **overrides: object,
) -> CompiledModel:
    """
    Compile a model.

    Args: `model` is a path to an .onnx file, its bytes or an `onnx.ModelProto`; `options`, or single fields
    of `CompileOptions` as keywords; `threads` that kernels may use when it runs (default: all cores).
    Returns: the model as native code; call it with numpy arrays, `save` it.
    Raises: StepwellError that names the node of the model, what was expected and what to do.
    """
    from dataclasses import replace

    options = replace(options or CompileOptions(), **overrides)  # pyright: ignore[reportArgumentType]
    return CompiledModel(build_image(model, options, progress=progress), threads=threads)


def build_image(model: Source, options: CompileOptions, *, progress: Progress | None = None) -> ModelImage:
    """
    Compile a model for any target, without loading its code.

    Raises: as `compile`, but for `wrong-cpu`.
    """
    compilation = start(model, options)
    to_level_1(compilation, options)
    interface = read_interface(main_of(compilation.module))
    to_level_2(compilation)
    cache = KernelCache() if options.use_cache else None
    return compile_image(compilation, interface, cache, processes=options.processes, progress=progress)


def start(model: Source, options: CompileOptions) -> Compilation:
    """Import a model: level 0. Raises: StepwellError for a file that is no valid model."""
    ctx = StepwellContext()
    ctx.target = target_from(options.mcpu, options.target)
    compilation = Compilation(ModuleOp([]), ctx)
    with compilation.timed("import"):
        compilation.module = read_module(model, ctx)
    check_main(compilation.module)
    ops = main_of(compilation.module).body.block.ops
    not_nodes = (onnx.ConstantOp, graph.ConstantOp, func.ReturnOp)
    compilation.counts["nodes"] = sum(not isinstance(op, not_nodes) for op in ops)
    if options.input_shapes:
        from stepwell.passes.onnx.set_input_shapes import set_input_shapes

        set_input_shapes(main_of(compilation.module), options.input_shapes)
    require_ranks(main_of(compilation.module))
    return compilation


def read_module(model: Source, ctx: StepwellContext) -> ModuleOp:
    """A model, or IR as text (.mlir), as a verified module. Raises: StepwellError."""
    if isinstance(model, str | Path) and Path(model).suffix == ".mlir":
        from stepwell.tools.ir_files import read_ir

        module = read_ir(Path(model), ctx)
        verify_module(module)
        return module
    from stepwell.frontend import import_onnx

    return import_onnx(model, ctx)


def to_level_1(compilation: Compilation, options: CompileOptions) -> None:
    """From the model as it is to the graph dialect, optimized, kernels decided."""
    with PassContext(opt_level=options.opt_level):
        compilation.run("onnx to graph", FROM_ONNX)
        compilation.run("graph", graph_pipeline(options.opt_level, compilation.ctx.target))


def to_level_2(compilation: Compilation) -> None:
    """From kernels of graph ops to kernel functions on tensors."""
    compilation.run("graph to linalg", "convert-graph-to-linalg")


def check_suffix(path: Path, known: Sequence[str] = (".onnx", ".mlir", ".stepwell")) -> None:
    """Refuse a file by its name, unless it is a model, IR or an artifact. Raises: StepwellError."""
    if path.suffix not in known:
        raise StepwellError(
            "unknown-file-type",
            str(path),
            f"expected a file that ends in {', '.join(known)}, found {path.suffix or 'no suffix'}",
            help="an artifact is compiled already: compile its model again"
            if path.suffix == ".stepwell"
            else "give a model a name that says what it is",
        )
