"""
Steps that match calls: callee, number of operands, operands (in both orders for commutative ops,
re-associated).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.patterns.constraints import has_attributes
from stepwell.patterns.machine import Goals, Machine, Step, Steps
from stepwell.patterns.nodes import And, Call, HasAttr, Not, Op, Or, Pattern, Tuple, Wildcard, ill_formed
from stepwell.patterns.values import (
    TRAIT,
    class_test,
    commutes,
    is_all_variadic,
    op_classes,
    op_name,
    owner_of,
)

OpTest = Callable[[Operation], bool]


def callee_test(callee: Pattern) -> OpTest:
    """The test of a call's op: by name, class or attributes, or by alternatives of these."""
    match callee:
        case Op():
            return _name_test(callee.name)
        case Wildcard() if callee.target is None:
            return lambda op: True
        case HasAttr():
            inner, attributes = callee_test(callee.inner), callee.attributes
            return lambda op: inner(op) and has_attributes(op, attributes)
        case Or():
            left, right = callee_test(callee.left), callee_test(callee.right)
            return lambda op: left(op) or right(op)
        case And():
            left, right = callee_test(callee.left), callee_test(callee.right)
            return lambda op: left(op) and right(op)
        case Not():
            inner = callee_test(callee.inner)
            return lambda op: not inner(op)
        case _:
            raise ill_formed(
                f"{type(callee).__name__.lower()} has operands already",
                help="what is called is an op, a wildcard, or alternatives of these",
            )


def _name_test(name: str) -> OpTest:
    if not name.startswith(TRAIT):
        return lambda op: op.name == name or op_name(op) == name
    if (kind := name.removeprefix(TRAIT)) not in (known := op_classes()):
        from difflib import get_close_matches  # for an error only

        near = get_close_matches(kind, known)
        hint = f"did you mean {TRAIT}{near[0]}? " if near else ""
        raise ill_formed(f"no class of ops is named {kind!r}", help=f"{hint}known: {', '.join(known)}")
    test = class_test(name)
    return lambda op: test(type(op))


def call_step(call: Call, steps: Steps, bind: Step, compile: Callable[[Pattern], None]) -> Step:
    """The step that matches a call. Args: `compile` is called with each re-association of the call."""
    matches_callee = callee_test(call.callee)
    operands_step = _operands_step(call, steps)
    others: list[Step] = []
    for other in associations(call):
        for part in (*other.parts(), other):
            compile(part)
        others.append(steps[other])

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        if (op := owner_of(value)) is None:
            return None
        if matches_callee(op):
            return operands_step(machine, op, value, (bind, value, rest))
        if not others or not _is_float(value.type):
            return None
        return _first_of(others, machine, value, (bind, value, rest))

    return step


def _first_of(alternatives: list[Step], machine: Machine, value: SSAValue, rest: Goals) -> Goals:
    goals: Goals = (alternatives[-1], value, rest)
    for alternative in reversed(alternatives[:-1]):
        cut = machine.choose(goals)
        goals = (alternative, value, (cut, value, rest))
    return goals


OperandsStep: TypeAlias = "Callable[[Machine, Operation, SSAValue, Goals], Goals | None]"


def _operands_step(call: Call, steps: Steps) -> OperandsStep:
    if call.args is None:
        return lambda machine, op, value, rest: rest
    args = [steps[arg] for arg in call.args]
    group = call.args[0] if len(call.args) == 1 else None

    def match_operands(machine: Machine, op: Operation, value: SSAValue, rest: Goals) -> Goals | None:
        operands = op.operands
        if isinstance(group, Tuple) and is_all_variadic(op):
            if group.fields is None:
                return rest
            if len(operands) != len(group.fields):
                return None
            return in_order([steps[part] for part in group.fields], list(operands), rest)
        if len(operands) != len(args):
            return None
        if len(args) == 2 and commutes(op):
            a, b = operands
            cut = machine.choose((args[0], b, (args[1], a, rest)))
            return (args[0], a, (args[1], b, (cut, value, rest)))
        return in_order(args, list(operands), rest)

    return match_operands


def in_order(steps: list[Step], values: list[SSAValue], rest: Goals) -> Goals:
    """The goals that match values one after the other."""
    for step, value in zip(reversed(steps), reversed(values), strict=True):
        rest = (step, value, rest)
    return rest


def associations(call: Call) -> tuple[Call, ...]:
    """
    The other ways to compute a call in real arithmetic, across multiply and divide: `(a * b) / c` is
    `a * (b / c)` and `b * (a / c)`; `(a / b) * c` is `(a * c) / b`. The same objects each time.
    """
    if not call.associates or not isinstance(call.callee, Op) or call.args is None or len(call.args) != 2:
        return ()
    if call.other_associations is None:
        dialect, _, kind = call.callee.name.rpartition(".")
        multiply, divide = Op(f"{dialect}.multiply"), Op(f"{dialect}.divide")
        found: list[Call] = []
        if kind == "divide":
            for a, b in _operands_of(call.args[0], multiply.name):
                found = [
                    Call(multiply, (x, Call(divide, (y, call.args[1]), False)), False)
                    for x, y in ((a, b), (b, a))
                ]
        elif kind == "multiply":
            for quotient, c in (call.args, call.args[::-1]):
                for a, b in _operands_of(quotient, divide.name):
                    found.append(Call(divide, (Call(multiply, (a, c), False), b), False))
        call.other_associations = tuple(found)
    return call.other_associations


def _operands_of(pattern: Pattern, name: str) -> list[tuple[Pattern, Pattern]]:
    """
    The two operand patterns of a call of the binary op `name`, as a list of one pair; empty for other
    patterns.
    """
    if isinstance(pattern, Call) and isinstance(pattern.callee, Op) and pattern.callee.name == name:
        if pattern.args is not None and len(pattern.args) == 2:
            return [(pattern.args[0], pattern.args[1])]
    return []


def _is_float(type: Attribute) -> bool:
    return isinstance(type.get_element_type() if isinstance(type, TensorType) else type, AnyFloat)
