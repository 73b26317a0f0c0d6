"""
`plan-memory`: the model's `@main` on buffers, every intermediate at an offset of one arena.

Before it, `@main` calls kernels on tensors; after it, on views of the arena, of the model's inputs, outputs
and weights. Reshapes become views and cost nothing; results are written into the caller's buffers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.lowering.main_to_buffers.analysis import analyse_main
from stepwell.lowering.main_to_buffers.lowered_main import MainOnBuffers
from stepwell.lowering.main_to_buffers.main import KernelSignature, MainBuffers
from stepwell.passes.analysis.arena import ArenaPlan, plan_arena


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """
    Give every intermediate of `@main` an offset in one arena, and call the kernels on buffers.

    Needs an `@main` of kernel calls, host calls, constants, reshapes, sizes (`graph.bind_sizes`,
    `graph.assert`, `graph.check_indices`) and control flow (`graph.if`, `graph.for`, `graph.while`), and the
    kernels, or their declarations, in the module. Kernels on tensors become declarations on buffers, kernels
    on buffers stay; a kernel's scratch is in the plan as its `#sched.kernel` says, which `bufferize` changes.
    The attribute `sched.arena` has the arena's size in bytes as a dimension expression. `print` shows the
    plan on standard error (`--print-memory-plan`).
    Source: the greedy-by-size planner of passes/analysis/arena.py; MLIR's one-shot bufferization for the
    result.
    """

    name = "plan-memory"

    print: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Analyse `@main`, plan its arena, and replace it; without `@main` do nothing."""
        functions = [f for f in op.ops if isinstance(f, func.FuncOp)]
        main = next((f for f in functions if f.sym_name.data == "main"), None)
        if main is None:
            return
        kernels = {f.sym_name.data: KernelSignature.of(f) for f in functions if f is not main}
        buffers = analyse_main(main, kernels)
        plan = plan_arena(buffers.intervals())
        MainOnBuffers(main, buffers, plan).replace(op)
        if self.print:
            sys.stderr.write(plan_text(buffers, plan))


def plan_text(buffers: MainBuffers, plan: ArenaPlan) -> str:
    """
    The plan as a table for people: offset, size and lifetime of each buffer, then the arena's size against
    the sum.
    """
    lines = [f"{'offset':>12} {'bytes':>12} {'from':>5} {'to':>5}  buffer"]
    placed = [(str(offset), buffer) for buffer, offset in zip(buffers.arena, plan.offsets, strict=True)]
    placed += [(f"slot {buffer.index}", buffer) for buffer in buffers.regions]
    for at, buffer in placed:
        lines.append(f"{at:>12} {buffer.size!s:>12} {buffer.first:>5} {buffer.last:>5}  {buffer.name}")
    saved = ""
    if plan.total.is_static and plan.sum_of_sizes.is_static and plan.sum_of_sizes != 0:
        saved = f" ({100 * plan.total.value // plan.sum_of_sizes.value} %)"
    return "\n".join(lines) + f"\narena: {plan.total} bytes of {plan.sum_of_sizes} without sharing{saved}\n"
