"""From a model's ops to kernels: the pipelines of level 1 that options ask for."""

from __future__ import annotations

from stepwell.passes.context import PassContext
from stepwell.passes.graph_pipeline import expect_needed_passes, expect_passes_of_level_1, graph_steps
from stepwell.passes.pipelines import TO_KERNELS, Step, text_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.precisions import F32, TF32
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.warned import warn
from stepwell.tools.driver.compilation import Compilation, is_lowered, passes_to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.requested_backends import available_backends, passes_of
from stepwell.tools.driver.resized import resizing


def to_level_1(compilation: Compilation, options: CompileOptions) -> None:
    """
    Convert a module to level 1: the graph dialect, optimized and fused to kernels; level 2 is left as it is.
    """
    if is_lowered(compilation.module):
        return
    from stepwell.tools.driver.devices.chosen import declare_devices

    _expect_precision(options)
    _warn_of_precision(options, compilation.ctx.target)
    context = chosen_passes(options).at_level(options.opt_level)
    with context.active():
        to_graph(compilation)
        declare_devices(compilation.module, options)
        compilation.precision = options.precision
        compilation.run("graph", text_of(steps_of(options, compilation.ctx.target, context)))


def _expect_precision(options: CompileOptions) -> None:
    """Require devices with products of TF32 where these are asked for. Raises: StepwellError `bad-option`."""
    if options.precision != TF32:
        return
    from stepwell.dialects.gpu.tensor_cores import has_tf32  # imports the dialect gpu
    from stepwell.tools.driver.devices.chosen import chosen_devices

    targets = [each.target for each in chosen_devices(options) if each.backend is None]
    if not targets or not all(map(has_tf32, targets)):
        without = [str(target) for target in targets if not has_tf32(target)]
        found = ", ".join(without) or "the CPU"
        message = f"precision tf32 is for devices with products of TF32 (mma-tf32), and found: {found}"
        raise StepwellError("bad-option", None, message, help="--target cuda, of sm_80 and later")


def _warn_of_precision(options: CompileOptions, target: TargetDescription) -> None:
    """Warn of products of 16 bits that no instruction of the target computes. Warns: RuntimeWarning."""
    if options.precision in (F32, TF32):
        return
    if options.precision == "bf16" and target.has_bfloat_products:
        return
    message = f"{target.triple} has no instructions for products of {options.precision}"
    if options.precision == "bf16":
        message += " that are faster than those of f32 (avx512bf16)"
    warn(f"{message}: results are rounded all the same, and it is no faster", RuntimeWarning)


def to_graph(compilation: Compilation, more: str = "") -> None:
    """Convert a module of level 0 to level 1, and run more passes; nothing is optimized."""
    with resizing(compilation):
        compilation.run("model to graph", passes_to_level_1(compilation.module) + more)


def chosen_passes(options: CompileOptions) -> PassContext:
    """
    The current pass context with the passes of level 1 that options require and disable.

    Raises: StepwellError `bad-option` for a pass of another level, `unknown-pass`.
    """
    expect_passes_of_level_1((*options.disabled_passes, *options.required_passes))
    return PassContext.current().choosing(options.required_passes, options.disabled_passes)


def steps_of(options: CompileOptions, target: TargetDescription, context: PassContext) -> list[Step]:
    """The passes of level 1 that options and the pass context ask for."""
    from stepwell.tools.driver.devices.chosen import default_device  # a first answer needs no devices
    from stepwell.tools.driver.devices.placement import placement_passes

    return graph_steps(
        options.opt_level,
        target,
        options.winograd,
        backends := available_backends(options),
        backend_passes=[text for name in backends for text in passes_of(name)],
        low_memory=options.memory == "low",
        activations=options.activations,
        strategies=options.strategies,
        precision=options.precision,
        keep_f32=options.keep_f32,
        required=context.required_pass,
        disabled=context.disabled_pass,
        device=default_device(options),
        placement_passes=placement_passes(options),
        strict_device=options.strict_device,
    )


def to_kernel_functions(compilation: Compilation, options: CompileOptions) -> None:
    """Convert kernels of graph ops to kernel functions on tensors; level 2 is left as it is."""
    if not is_lowered(compilation.module):
        expect_needed_passes(chosen_passes(options).disabled_pass)
        compilation.run("graph to linalg", TO_KERNELS)
