"""The nodes of a model that a kernel computes, as lines of a comment."""

from __future__ import annotations

from xdsl.dialects.arith import ConstantOp

from stepwell.dialects.gpu.kernel import GPUFuncOp
from stepwell.runtime.errors import describe_location

_SHOWN_NODES = 6
_NODE = 'node "'
"""A part of the locations that name a node of a model."""


def node_lines(kernel: GPUFuncOp) -> list[str]:
    """The locations of the kernel's ops as lines of a comment: nodes of the model, in their order."""
    # Constants are shared by all nodes of a function, and have their locations together.
    ops = (op for op in kernel.walk() if op is not kernel and not isinstance(op, ConstantOp))
    places = dict.fromkeys(describe_location(op) or "" for op in ops)
    found = [place for place in places if _NODE in place]
    more = [f"and {len(found) - _SHOWN_NODES} more"] if len(found) > _SHOWN_NODES else []
    return [f"@{kernel.sym_name.data}", *found[:_SHOWN_NODES], *more]
