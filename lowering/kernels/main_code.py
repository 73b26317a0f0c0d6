"""The object file of `@main`, which calls kernels by its plan of the memory."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.lowering.kernels.kernel import llvm_text
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE
from stepwell.passes.reproducer import Reproducer
from stepwell.runtime.collector import collector_paused, free_young_cycles
from stepwell.runtime.memory import return_free_memory


@collector_paused()
def main_object(module: ModuleOp, ctx: StepwellContext, reproducer: Reproducer | None = None) -> bytes:
    """
    The object file of `@main` on level 3.

    Args: `reproducer` is the reproducer of the passes that ran on the module before. Raises: StepwellError of
    a pass.
    """
    run_pipeline(module, LLVM_PIPELINE, ctx, reproducer)
    text = llvm_text(module, ctx.target)
    effort = 2
    if len(text) > COMPILER.large_main:
        effort = 0
        _free_ops(module)
    code = compile_to_object(text, ctx.target, optimize=False, effort=effort)
    return_free_memory()
    return code


def _free_ops(module: ModuleOp) -> None:
    """Give the memory of a module's ops back: those of a long `@main` need as much as LLVM is about to."""
    while (op := module.body.block.first_op) is not None:
        op.detach()
    free_young_cycles()
