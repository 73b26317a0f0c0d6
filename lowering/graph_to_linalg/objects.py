"""Values of the host that branches and loops pass on: each is handed over by a call."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.host import is_opaque, numpy_call
from stepwell.dialects.locations import adopt_location


def hand_over_objects(function: FuncOp) -> None:
    """
    Let calls of `host.identity` make the objects that branches yield, and that loops start as and go on as.

    Planning then gives such a result the place of what it stands for. A loop's objects are set aside first,
    so that one may go on as another.
    """
    for op in [op for op in function.body.walk() if isinstance(op, graph.ControlFlowOp)]:
        if not any(is_opaque(value.type) for value in op.values):
            continue
        if isinstance(op, graph.LoopOp):
            first = len(op.operands) - len(op.inits)
            for place, init in enumerate(op.inits):
                if is_opaque(init.type):
                    op.operands[first + place] = _copy(init, op.carried[place].type, op)
        bodies = (
            op.regions if isinstance(op, graph.IfOp) else [op.body] if isinstance(op, graph.LoopOp) else []
        )
        for region in bodies:
            last = yield_of(region)
            for _ in range(2 if isinstance(op, graph.LoopOp) else 1):
                for place, (value, result) in enumerate(zip(last.operands, op.values, strict=True)):
                    if is_opaque(value.type):
                        last.operands[place] = _copy(value, result.type, last)


def _copy(value: SSAValue, type: Attribute, reader: Operation) -> SSAValue:
    call = numpy_call("host.identity", {}, [value], [type])
    adopt_location(call, reader.location)
    Rewriter.insert_op(call, InsertPoint.before(reader))
    return call.values[0]
