"""`time-kernels`: `@main` records the time at the begin and end of each kernel call and host call."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.runtime_calls import ClockOp, HostCallOp
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class TimeKernelsPass(Pass):
    """
    Put a `sched.clock` before and after call `i` of a kernel or of the host in `@main`, with the indices
    `2 i` and `2 i + 1`.

    Needs `@main` on buffers (`plan-memory`). The times of a call in a loop are added. Not idempotent.
    """

    name = "time-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, func.FuncOp)}
        kernels = {name for name, f in functions.items() if is_kernel(f)}
        if "main" not in functions:
            return
        calls = [
            call
            for call in functions["main"].walk()
            if isinstance(call, HostCallOp)
            or (isinstance(call, func.CallOp) and call.callee.string_value() in kernels)
        ]
        for index, call in enumerate(calls):
            for side, point in enumerate((InsertPoint.before(call), InsertPoint.after(call))):
                IRBuilder(point, call.location).insert(ClockOp(2 * index + side))
