"""The table of derivatives: for each op, the rule that makes cotangents of its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.runtime.plugins import Registry


@dataclass(frozen=True)
class Fields:
    """The cotangent of a tuple by the fields that are not zero, with their numbers."""

    known: Mapping[int, SSAValue]

    def whole(self, like: SSAValue, b: GradientBuilder) -> SSAValue:
        """The cotangent as one value, that of the tuple `like`."""
        count = len(cast(TupleType, like.type).types)
        return b.tuple_of([self.known.get(i) or b.scope.zeros(b.get(like, i), b) for i in range(count)])


Cotangents: TypeAlias = Sequence[SSAValue | Fields | None]
"""For each operand of an op its cotangent; None where that is zero."""
Rule: TypeAlias = Callable[[Any, Any, GradientBuilder], Cotangents]
RuleT = TypeVar("RuleT", bound=Rule)

DERIVATIVE = "graph.derivative"
"""Attribute of a function, and of its calls while a gradient is made: the function that is its derivative."""
RULES: dict[str, Rule] = {}
"""Our derivatives by the name of the op, read at first use."""
_PLUGGED_IN: Registry[str, Rule] = Registry("a derivative of")
"""Those of plugins."""


def derivative(*ops: type[Operation]) -> Callable[[RuleT], RuleT]:
    """
    Register a rule for ops: `def exp(op, dy, b)`, with a builder, returns the cotangents of the operands.

    `dy` is the cotangent of the op's result; of an op with several results, a sequence of them, None where
    one is zero. The rule may use operands and results of the op, and gives None for what has no derivative.
    Raises: StepwellError `name-taken` for an op that has another rule.
    """

    def register(rule: RuleT) -> RuleT:
        for op in ops:
            _add(op.name, rule)
        return rule

    return register


def _add(name: str, rule: Rule) -> None:
    if rule.__module__.startswith("stepwell."):
        RULES[name] = rule
        return
    _read_families()
    if name in RULES:
        raise _PLUGGED_IN.taken(name, rule)
    _PLUGGED_IN.add(name, rule, rule)


def rule_of(op: Operation) -> Rule | None:
    """The derivative of an op; None where there is none."""
    if isinstance(op, graph.CallOp) and op.callee is None:
        return None
    return rule_of_type(type(op))


def rule_of_type(op: type[Operation]) -> Rule | None:
    """The derivative of ops of a class; None where there is none."""
    _read_families()
    return RULES.get(op.name) or _PLUGGED_IN.get(op.name)


def ops_with_derivative() -> list[str]:
    """The names of the ops that have a rule."""
    _read_families()
    return sorted([*RULES, *_PLUGGED_IN])


def zero(op: Operation, dy: object, b: GradientBuilder) -> Cotangents:
    """The derivative of an op that is constant almost everywhere."""
    del dy, b
    return [None] * len(op.operands)


@cache
def _read_families() -> None:
    """Import the rules, which import this table."""
    import_module("stepwell.passes.graph.gradients.derivatives")
