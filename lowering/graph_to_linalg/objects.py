"""Host objects that branches and loops pass on: each one is the result of a call of `host.identity`."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.host import is_opaque, numpy_call
from stepwell.dialects.ir_builder import IRBuilder


def hand_over_objects(function: FuncOp) -> None:
    """
    Insert calls of `host.identity` for the objects that branches yield and that loops start with or carry.

    Planning then gives the result of such a call the table entry of its branch's or loop's result. A loop's
    objects are copied twice at the end of its body, so that one carried object may become another.
    """
    for op in [op for op in function.body.walk() if isinstance(op, graph.ControlFlowOp)]:
        if not any(is_opaque(value.type) for value in op.values):
            continue
        if isinstance(op, graph.LoopOp):
            first = len(op.operands) - len(op.inits)
            for position, init in enumerate(op.inits):
                if is_opaque(init.type):
                    op.operands[first + position] = _copy(init, op.carried[position].type, op)
        bodies = (
            op.regions if isinstance(op, graph.IfOp) else [op.body] if isinstance(op, graph.LoopOp) else []
        )
        for region in bodies:
            last = yield_of(region)
            for _ in range(2 if isinstance(op, graph.LoopOp) else 1):
                for position, (value, result) in enumerate(zip(last.operands, op.values, strict=True)):
                    if is_opaque(value.type):
                        last.operands[position] = _copy(value, result.type, last)


def _copy(value: SSAValue, type: Attribute, reader: Operation) -> SSAValue:
    """The result of a new `host.identity` call before `reader`, with its location."""
    call = numpy_call("host.identity", {}, [value], [type])
    return IRBuilder.before(reader).insert(call).values[0]
