"""Which patterns of a list can match at an op at all: asked once for each shape of op that occurs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.traits import Commutative

from stepwell.patterns.calls import associations, callee_test
from stepwell.patterns.constructs import TUPLE, is_branch
from stepwell.patterns.nodes import (
    And,
    Call,
    Constant,
    Constraint,
    Dominates,
    Expr,
    HasAttr,
    If,
    Not,
    Op,
    Or,
    Pattern,
    Tuple,
    Var,
)
from stepwell.patterns.values import is_all_variadic, is_constant_op, op_name, owner_of

Shape = tuple[type[Operation], tuple[type[Operation] | None, ...]]


class PatternIndex:
    """
    Patterns by the shapes of op at which they can match: its class, and those of the ops that feed it.

    So the time that a table takes hardly grows with patterns that have nothing to do with a model.
    """

    def __init__(self, patterns: Sequence[Pattern]):
        self._patterns = patterns
        self._candidates: dict[Shape, tuple[int, ...]] = {}

    def candidates(self, op: Operation) -> tuple[int, ...]:
        """The indices of the patterns that may match at an op's results, in order."""
        owners = [owner_of(value) for value in op.operands]
        shape = (type(op), tuple([None if owner is None else type(owner) for owner in owners]))
        if (found := self._candidates.get(shape)) is None:
            found = tuple(i for i, pattern in enumerate(self._patterns) if can_match(pattern, op, True))
            self._candidates[shape] = found
        return found


def can_match(pattern: Pattern, op: Operation | None, look_at_operands: bool) -> bool:
    """Whether a pattern may match a result of an op (None: a block argument), by classes of ops alone."""
    match pattern:
        case Var():
            return op is None
        case Constant():
            return op is not None and is_constant_op(op)
        case Expr():
            wanted = owner_of(pattern.value)
            return op is wanted if op is None or wanted is None else op_name(op) == op_name(wanted)
        case Op():
            return op is not None and callee_test(pattern)(op)
        case Call():
            return op is not None and _call_can_match(pattern, op, look_at_operands)
        case Tuple():
            return op is not None and op.name == TUPLE
        case If():
            return op is not None and is_branch(op)
        case Or():
            return any(can_match(arm, op, look_at_operands) for arm in pattern.parts())
        case And():
            return all(can_match(arm, op, look_at_operands) for arm in pattern.parts())
        case Constraint():
            return can_match(pattern.inner, op, look_at_operands)
        case Dominates():
            return can_match(pattern.child, op, look_at_operands)
        case _:
            return True


def _call_can_match(call: Call, op: Operation, look_at_operands: bool) -> bool:
    if not _callee_can_match(call.callee, op):
        return any(_callee_can_match(other.callee, op) for other in associations(call))
    if call.args is None or not look_at_operands:
        return True
    if len(call.args) == 1 and isinstance(call.args[0], Tuple) and is_all_variadic(op):
        return True
    operands = list(op.operands)
    if len(operands) != len(call.args):
        return False
    orders = [operands, operands[::-1]] if op.has_trait(Commutative) else [operands]
    return any(_operands_can_match(call.args, order) for order in orders)


def _operands_can_match(args: Sequence[Pattern], operands: Sequence[SSAValue]) -> bool:
    pairs = zip(args, operands, strict=True)
    return all(can_match(arg, owner_of(value), False) for arg, value in pairs)


def _callee_can_match(callee: Pattern, op: Operation) -> bool:
    match callee:
        case Or():
            return any(_callee_can_match(arm, op) for arm in callee.parts())
        case And():
            return all(_callee_can_match(arm, op) for arm in callee.parts())
        case HasAttr():
            return _callee_can_match(callee.inner, op)
        case Not():
            return True
        case _:
            return callee_test(callee)(op)
