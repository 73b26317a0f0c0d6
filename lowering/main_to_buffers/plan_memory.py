"""
`plan-memory`: the model's `@main` on buffers, every intermediate at an offset of one arena.

Before it, `@main` calls kernels on tensors; after it, on views of the arena, of the model's inputs, outputs
and weights. Reshapes become views and cost nothing; results are written into the caller's buffers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from stepwell.dialects.locations import adopt_location
from stepwell.dialects.sched_kernel import is_kernel, is_on_buffers
from stepwell.dialects.sched_program import BUFFERS, PROGRAM, ProgramAttr
from stepwell.dialects.types import DimsAttr
from stepwell.lowering.main_to_buffers import calls, control_flow, sizes, updates
from stepwell.lowering.main_to_buffers.conversion import MainOnBuffers, MainPattern
from stepwell.lowering.main_to_buffers.kept import kept_buffers
from stepwell.lowering.main_to_buffers.kernel_signature import declaration
from stepwell.lowering.main_to_buffers.plan import MainPlan
from stepwell.lowering.main_to_buffers.plan_diagram import diagram
from stepwell.lowering.main_to_buffers.pools import pools_of
from stepwell.passes.analysis.arena import expect_alignment
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.log import logger

_log = logger(__name__)
_PATTERNS: Sequence[type[MainPattern]] = (
    calls.KernelCallLowering,
    calls.HostCallLowering,
    calls.ConstantLowering,
    calls.ViewLowering,
    calls.ReturnLowering,
    updates.InsertSliceLowering,
    sizes.BindSizesLowering,
    sizes.DefineSizesLowering,
    sizes.AssertLowering,
    sizes.CheckIndicesLowering,
    sizes.CheckAccessesLowering,
    sizes.CheckOffsetsLowering,
    control_flow.IfLowering,
    control_flow.ForLowering,
    control_flow.WhileLowering,
    control_flow.YieldLowering,
)


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """
    Give every intermediate of `@main` an offset in one arena, and call the kernels on buffers.

    Needs an `@main` of kernel calls, host calls, constants, reshapes, sizes (`graph.bind_sizes`,
    `graph.assert`, `graph.check_accesses`, `graph.check_indices`, `graph.check_offsets`) and control flow
    (`graph.if`, `graph.for`, `graph.while`), and the kernels, or their declarations, in the module. Kernels
    on tensors become declarations on buffers, kernels on buffers stay; a kernel's scratch is in the plan as
    its `#sched.kernel` says, which `bufferize` changes.
    The attribute `#sched.program` of `@main` has the arena's size in bytes as a dimension expression, and the
    number of slots. `print` shows the plan on standard error (`--print-memory-plan`), with a diagram for open
    sizes of 1. `keep` gives the result of each call memory of its own, scratch excepted, and `@main` the
    attribute `sched.buffers`, which says where: the debugger reads them after a run.
    A result is in the memory of an operand where the kernel's `#sched.kernel` allows it (`mark-in-place`),
    nothing reads the operand later, and the arena is smaller for it.
    `pools` puts the arena, of fixed size, into several memories, such as `"tcm=4096","sram=65536"`: the
    buffers with the most accesses per byte into the first one with room. `@main` takes each of them.
    Buffers begin at multiples of `alignment` bytes; in pools, of cache lines.
    Source: the greedy-by-size planner of passes/analysis/arena.py; MLIR's one-shot bufferization for the
    result.
    """

    name = "plan-memory"

    keep: bool = False
    print: bool = False
    pools: tuple[str, ...] = ()
    alignment: int = ARENA_ALIGNMENT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan `@main`, convert it, and declare the kernels on buffers; without `@main` do nothing."""
        expect_alignment(self.alignment, op)
        functions = functions_by_name(op)
        main = functions.pop("main", None)
        if main is None:
            return
        pools = pools_of(self.pools) if self.pools else ()
        if pools and self.keep:
            raise StepwellError(
                "bad-option", main, "keep gives each value memory of its own, and pools share"
            )
        plan = MainPlan.of(op, keep=self.keep, pools=pools, alignment=self.alignment)
        kept = kept_buffers(main, plan) if self.keep else None
        for kernel in functions.values():
            if not (is_kernel(kernel) and is_on_buffers(kernel)):
                op.body.block.insert_op_before(declaration(kernel), kernel)
                kernel.detach()
                kernel.erase(safe_erase=False)
        main.detach()
        op.body.block.add_op(main)
        _log(1, "an arena of {} bytes for {} buffers", plan.arena.total, len(plan.arena.offsets))
        convert_main(main, plan)
        if kept is not None:
            main.attributes[BUFFERS] = kept
        if self.print:
            sys.stderr.write(f"{plan}{diagram(plan, dict.fromkeys(plan.known, 1))}")


def convert_main(main: FuncOp, plan: MainPlan) -> None:
    """Convert `@main` to buffers as planned, in place; its weights become globals before it."""
    adopt_location(main, NameLoc(StringAttr("main"), NoneAttr()))
    arguments = _argument_dims(plan)
    conversion = MainOnBuffers(main, plan)
    conversion.convert([pattern(conversion) for pattern in _PATTERNS])
    main.properties = {
        "sym_name": main.sym_name,
        "function_type": FunctionType.from_lists([arg.type for arg in main.args], []),
        "arg_attrs": arguments,
    }
    counts = len(plan.inputs), len(plan.outputs)
    names, arena = (plan.symbols, plan.published), plan.arena.total
    pools = [str(pool) for pool in plan.pools]
    program = ProgramAttr.planned(*counts, *names, arena, plan.slots, plan.in_place, pools)
    main.attributes = {PROGRAM: program}


def _argument_dims(plan: MainPlan) -> ArrayAttr[DictionaryAttr]:
    """The dimensions of inputs and outputs by name, which their memref types lack."""

    def named(value: SSAValue) -> DictionaryAttr:
        dims = () if plan.is_placeholder(value) else plan.shaped[value].dims
        is_static = all(dim.is_static for dim in dims)
        return DictionaryAttr({} if is_static else {"graph.dims": DimsAttr.of(dims)})

    unnamed = [DictionaryAttr({})] * (max(1, len(plan.pools)) + len(plan.symbols))
    return ArrayAttr([*map(named, (*plan.inputs, *plan.outputs)), *unnamed])
