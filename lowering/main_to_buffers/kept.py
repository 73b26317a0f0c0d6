"""The memory of kept values: an entry for each result of a call of `@main`, for who reads it after a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.types import DimsAttr, Tensor, dtype_of
from stepwell.lowering.main_to_buffers.plan import MainPlan, Shaped
from stepwell.runtime.dims import Dim

CALLS = (func.CallOp, graph.HostCallOp, graph.ControlFlowOp)
"""The ops of `@main` whose results are values of their own; others only give a value another shape."""


def kept_buffers(main: func.FuncOp, plan: MainPlan) -> DictionaryAttr:
    """
    The memory of the tensors that calls, branches and loops of `@main` on tensors result in, in its order.

    An offset counts from the begin of a part of the arena: the parts before it can have a long sum.
    Objects and sizes, which are in no buffer, have an empty entry.
    """
    values = [value for op in main.walk() if isinstance(op, CALLS) for value in op.results]
    parts = {begin: number for number, begin in enumerate(plan.arena.begins)}
    entries = [_entry(value.name_hint, plan.shaped.get(value), value.type, parts) for value in values]
    return DictionaryAttr({"parts": DimsAttr.of(plan.arena.parts), "values": ArrayAttr(entries)})


def _entry(
    name: str | None, shaped: Shaped | None, type: Attribute, parts: Mapping[Dim, int]
) -> DictionaryAttr:
    if shaped is None:
        return DictionaryAttr({})
    buffer = shaped.buffer
    # Buffers of known size are in part 0, each of the other parts begins with its buffers.
    part, offset = (number, 0) if (number := parts.get(buffer.offset)) else (0, buffer.offset.value)
    return DictionaryAttr(
        {
            "value": StringAttr(name or ""),
            "memory": StringAttr(buffer.kind),
            "index": IntegerAttr(buffer.index, 64),
            "part": IntegerAttr(part, 64),
            "offset": IntegerAttr(offset, 64),
            "dims": DimsAttr.of(shaped.dims),
            "dtype": StringAttr(dtype_of(cast(Tensor, type).element_type).name),
        }
    )
