"""Attributes that passes put on graph ops for other passes: discardable, by name."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Operation

from stepwell.runtime.dims import Dim

STOP_FUSION = "graph.stop_fusion"
"""An attribute on an op: no kernel contains both it and a consumer."""


IN_BOUNDS = "graph.in_bounds"
"""An attribute on a gather, scatter, slice or update: its indices or offsets are within bounds."""


STRATEGY = "graph.strategy"
"""An attribute on an op: the name of the strategy by which it is to be, or is, computed."""


_Op = TypeVar("_Op", bound=Operation)


def in_bounds(op: _Op) -> _Op:
    """An op after it is marked: its indices, or offsets, are known to be within bounds."""
    op.attributes[IN_BOUNDS] = UnitAttr()
    return op


BOUND_KERNEL = "graph.kernel"
"""Attribute of a composite or kernel: the function on tensors that computes it, which a user wrote."""

FLOPS = "graph.flops"
BYTES = "graph.bytes"
ARITHMETIC = "graph.arithmetic"
WORK = (FLOPS, BYTES, ARITHMETIC)
"""The attributes with the work of a kernel."""


def annotated_work(op: Operation) -> tuple[Dim, Dim, str]:
    """The operations, bytes and arithmetic that an op is annotated with; 0 without the annotation."""
    told = [op.attributes.get(name) for name in WORK]
    flops, moved, kind = (each.data if isinstance(each, StringAttr) else "" for each in told)
    return Dim.of(flops or 0), Dim.of(moved or 0), kind


BACKEND = "graph.backend"
"""Attribute of a function: the backend that computes it."""
