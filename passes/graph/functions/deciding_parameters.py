"""The parameters of a function that its branches and matches depend on."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.graph.functions import values_read


def deciding_parameters(body: graph.LambdaOp | FuncOp) -> Sequence[bool]:
    """
    For each parameter of a function, whether a branch or match depends on it.

    A recursion is over these parameters: `foldl` matches its list, but never its accumulator, so a known
    accumulator is no reason to unfold it.
    """
    block = body.body.block
    parameters: Sequence[SSAValue] = body.arguments if isinstance(body, graph.LambdaOp) else block.args
    waiting: list[SSAValue] = []
    for op in body.body.walk():
        if isinstance(op, adt.MatchOp):
            waiting.append(op.value)
        elif isinstance(op, graph.IfOp):
            waiting.append(op.operands[0])
    seen: set[SSAValue] = set()
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            waiting += values_read(value.owner) if isinstance(value.owner, Operation) else ()
    return [parameter in seen for parameter in parameters]
