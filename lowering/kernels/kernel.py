"""Compilation of a kernel from level 2 to an object file, by the same pipeline in every process."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from xdsl.dialects.builtin import ModuleOp, VectorType

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.printed_lines import printed_lines
from stepwell.dialects.sched import TUNED
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.kernel_object import KernelObject
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext, Remark
from stepwell.passes.pipelines import LLVM_PIPELINE, LOOP_PIPELINE, SCHEDULE_PIPELINE, SMALL_LOOP_PIPELINE
from stepwell.passes.reproducer import Reproducer
from stepwell.passes.trace_events import span
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.targets.triples import has_threads

KERNEL_PIPELINES = (SCHEDULE_PIPELINE, LOOP_PIPELINE, LLVM_PIPELINE)
"""From level 2 to level 4."""


def has_vectors(module: ModuleOp) -> bool:
    """
    Whether code computes on vectors already.

    LLVM's pipeline would double the compile time of such code for nothing (measured: under 2 % of run time);
    scalar loops need the pipeline, which vectorizes them.
    """
    return any(isinstance(result.type, VectorType) for op in module.walk() for result in op.results)


@collector_paused()
def compile_kernel(
    make: Callable[[], ModuleOp], ctx: StepwellContext, target: TargetDescription
) -> KernelObject:
    """
    The object of a kernel. A tuned schedule that a pass refuses is left out, with a remark.

    Args: `make` returns a new module of level 2 with the kernel alone; it is called again for a reproducer.
    Raises: StepwellError when a pass refuses the kernel.
    """
    ctx.target = target
    context = PassContext.current().with_own_remarks()
    try:
        return _compiled(make, ctx, target, context)
    except StepwellError as error:
        if error.code != "bad-schedule" or not _drop_tuned(make()):
            raise
        refused = Remark(
            "choose-schedules", error.where or "", f"the tuned schedule is not used: {error.message}"
        )

    def untuned() -> ModuleOp:
        _drop_tuned(module := make())
        return module

    context = PassContext.current().with_own_remarks()
    context.remarks.append(refused)
    return _compiled(untuned, ctx, target, context)


def _drop_tuned(module: ModuleOp) -> bool:
    """Remove the tuned schedules of kernels; returns whether there were any."""
    found = [op.attributes.pop(TUNED, None) for op in module.ops]
    return any(each is not None for each in found)


def _compiled(
    make: Callable[[], ModuleOp], ctx: StepwellContext, target: TargetDescription, context: PassContext
) -> KernelObject:
    module, reproducer = make(), Reproducer(make)

    def step(pipeline: str) -> None:
        with context.active():
            run_pipeline(module, pipeline, ctx, reproducer)

    step(SCHEDULE_PIPELINE)
    step(LOOP_PIPELINE if has_threads(target.arch) else SMALL_LOOP_PIPELINE)
    (kernel,) = [found for op in module.ops if (found := kernel_of(op)) is not None]
    step(LLVM_PIPELINE)
    code = object_of(module, target)
    meta: dict[str, object] = {"scratch": kernel.scratch.data, "in place": kernel.pairs_in_place}
    if context.remarks:
        meta["remarks"] = [[r.pass_name, r.where, r.message] for r in context.remarks]
    return KernelObject(code, meta)


OPTIMIZE: ContextVar[bool | None] = ContextVar("stepwell_optimize", default=None)
"""Whether LLVM's pipeline runs on kernels compiled here, whatever is in them; such objects are not cached."""


def llvm_text(module: ModuleOp, target: TargetDescription) -> str:
    """The LLVM IR of a module at level 4, with the lines of its own text where the target has them."""
    return emit_llvm(module, lines=printed_lines(module)[1] if target.debug_info else None)


def object_of(module: ModuleOp, target: TargetDescription) -> bytes:
    """The object file of a kernel at level 4."""
    chosen = OPTIMIZE.get()
    with span("emit_llvm", "step"):
        text = llvm_text(module, target)
    with span("machine code", "step"):
        optimize = not has_vectors(module) if chosen is None else chosen
        return compile_to_object(text, target, optimize=optimize)
