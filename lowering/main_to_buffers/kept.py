"""The memory of kept values: an entry for each result of a call of `@main`, for who reads it after a run."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr

from stepwell.dialects import graph
from stepwell.dialects.types import DimsAttr, Tensor, dtype_of
from stepwell.lowering.main_to_buffers.plan import MainPlan, Shaped

CALLS = (func.CallOp, graph.HostCallOp, graph.ControlFlowOp)
"""The ops of `@main` whose results are values of their own; others only give a value another shape."""


def kept_buffers(main: func.FuncOp, plan: MainPlan) -> ArrayAttr[DictionaryAttr]:
    """
    The memory of the tensors that calls, branches and loops of `@main` on tensors result in, in its order.

    Objects and sizes, which are in no buffer, have an empty entry.
    """
    values = [value for op in main.walk() if isinstance(op, CALLS) for value in op.results]
    return ArrayAttr([_entry(value.name_hint, plan.shaped.get(value), value.type) for value in values])


def _entry(name: str | None, shaped: Shaped | None, type: object) -> DictionaryAttr:
    if shaped is None:
        return DictionaryAttr({})
    buffer = shaped.buffer
    return DictionaryAttr(
        {
            "value": StringAttr(name or ""),
            "memory": StringAttr(buffer.kind),
            "index": IntegerAttr(buffer.index, 64),
            "offset": StringAttr(str(buffer.offset)),
            "dims": DimsAttr.of(shaped.dims),
            "dtype": StringAttr(dtype_of(cast(Tensor, type).element_type).name),
        }
    )
