"""The calls of a function or lambda in its own body, and whether they are all in tail position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects.types import dims_of
from stepwell.passes.analysis.call_graph import symbols_of
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.runtime.dims import Dim


@dataclass
class SelfCalls:
    """The references of a function or lambda to itself."""

    function: FuncOp | graph.LambdaOp
    found: Sequence[Operation]
    """All ops that refer to it, calls or not."""
    tail: set[Operation]
    """The calls whose results are the function's."""

    @staticmethod
    def of(function: FuncOp | graph.LambdaOp) -> SelfCalls:
        """The references in the function's own body."""
        if isinstance(function, FuncOp):
            name = function.sym_name.data
            found = [op for op in function.body.walk() if name in symbols_of(op)]
        else:
            found = [use.operation for use in function.itself.uses] if function.itself is not None else []
        tail = set[Operation]()
        if found and len(function.body.blocks) == 1:
            tail = {each for each in _last_ops(function.body.block) if _is_call_of(each, function)}
        return SelfCalls(function, found, tail)

    @property
    def block(self) -> Block:
        """The body."""
        return self.function.body.block

    @property
    def parameters(self) -> Sequence[SSAValue]:
        """The arguments within the body, without a lambda's name for itself."""
        if isinstance(self.function, graph.LambdaOp):
            return self.function.arguments
        return self.function.body.block.args

    @property
    def results(self) -> Sequence[Attribute]:
        """The types of the results."""
        last = self.block.last_op
        return last.operand_types if last is not None else ()

    def reason_against(self) -> str:
        """Why the calls cannot become a loop; empty where they can."""
        if not all(each in self.tail for each in self.found):
            return "it calls itself before other ops, or is a value itself"
        types = [value.type for value in self.parameters]
        if not (types and all(map(has_known_sizes, types))):
            return "its arguments are not tensors of known sizes"
        if any([value.type for value in arguments_of(call)] != types for call in self.tail):
            return "a call has arguments of other sizes"
        if defined_names(self.function.body):
            return "it has sizes that depend on data"
        return ""


def arguments_of(call: Operation) -> Sequence[SSAValue]:
    """The arguments of a call."""
    assert isinstance(call, graph.CallOp | CallOp)
    return call.arguments


def _last_ops(block: Block) -> list[Operation]:
    """The last ops of a block; of a branch, the last ops of both regions."""
    found: list[Operation] = []
    waiting = [block]
    while waiting:
        if (op := last_before_end(waiting.pop())) is None:
            continue
        if is_branch(op):
            waiting += [region.block for region in op.regions]
        else:
            found.append(op)
    return found


def last_before_end(block: Block) -> Operation | None:
    """The op whose results are, in order, what a block ends with; None without one."""
    last = block.last_op
    op = last.prev_op if last is not None else None
    if last is None or op is None or not op.results or list(last.operands) != list(op.results):
        return None
    return op if all(result.has_one_use() for result in op.results) else None


def is_branch(op: Operation) -> bool:
    """Whether one of an op's regions gives its results."""
    return isinstance(op, graph.IfOp | adt.MatchOp)


def _is_call_of(op: Operation, function: FuncOp | graph.LambdaOp) -> bool:
    if isinstance(function, FuncOp):
        is_call = isinstance(op, CallOp) or (isinstance(op, graph.CallOp) and op.callee is not None)
        return is_call and function.sym_name.data in symbols_of(op)
    itself = function.itself
    is_call = isinstance(op, graph.CallOp) and itself is not None and op.function is itself
    return is_call and itself not in arguments_of(op)


def has_known_sizes(type: Attribute) -> bool:
    """Whether a type is of tensors whose sizes are numbers or names."""
    if type.name != TensorType.name:
        return False
    return all(not dim.is_unknown and (dim.is_static or dim == Dim.symbol(str(dim))) for dim in dims_of(type))
