"""The buffers of a model's arena, and the calls that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.sched_kernel import set_scratch
from stepwell.lowering.main_to_buffers import MainPlan
from stepwell.runtime.dims import Dim
from stepwell.tools.driver.compilation import kernels_of, main_of
from stepwell.tools.explore.kernel_steps import Data


def buffers_of(
    module: ModuleOp, details: Mapping[str, Data], calls: Sequence[Data], sizes: Mapping[str, int]
) -> list[Data]:
    """
    The buffers of the plan of `@main` on level 2, in bytes for the sizes of a call; each call gets those that
    it reads or writes.

    Args: `details` of `kernel_data` have the kernels' scratch; `calls` are those of `@main`, in its order.
    """
    for kernel in kernels_of(module):
        if (scratch := str(details[kernel.sym_name.data]["scratch"])) != "0":
            set_scratch(kernel, scratch)
    main, plan = main_of(module), MainPlan.of(module)
    ids = {buffer: f"b{index}" for index, buffer in enumerate(plan.buffers)}
    ops = [op for op in main.walk() if isinstance(op, func.CallOp)]
    kernel_calls = [call for call in calls if call["kernel"] is not None]
    for op, call in zip(ops, kernel_calls, strict=False):
        values = [value for value in (*op.operands, *op.results) if not is_opaque(value.type)]
        used = [shaped.buffer for value in values if (shaped := plan.shaped.get(value)) is not None]
        used += [plan.scratch[op]] if op in plan.scratch else []
        call["arena"] = [ids[buffer] for buffer in dict.fromkeys(used) if buffer in ids]
    return [
        {
            "id": id,
            "value": buffer.name,
            "offset": _evaluated(buffer.offset, sizes) if buffer.kind == "arena" else None,
            "bytes": _evaluated(buffer.size, sizes),
            "from": buffer.first,
            "to": buffer.last,
        }
        for buffer, id in ids.items()
    ]


def _evaluated(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """The value of a dimension for the sizes of a call; None where it depends on data."""
    return dim.evaluate(sizes) if dim.symbols() <= sizes.keys() else None
