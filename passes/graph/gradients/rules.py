"""The table of derivatives: for each op, the rule that makes cotangents of its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from stepwell.passes.graph.gradients.builder import GradientBuilder

Cotangents: TypeAlias = Sequence[SSAValue | None]
"""For each operand of an op its cotangent; None where that is zero."""
Rule: TypeAlias = Callable[[Any, Any, GradientBuilder], Cotangents]
RuleT = TypeVar("RuleT", bound=Rule)

DERIVATIVE = "graph.derivative"
"""Attribute of a function, and of its calls while a gradient is made: the function that is its derivative."""
_RULES: dict[type[Operation], Rule] = {}


def derivative(*ops: type[Operation]) -> Callable[[RuleT], RuleT]:
    """
    Register a rule for ops: `def exp(op, dy, b)`, with a builder, returns the cotangents of the operands.

    `dy` is the cotangent of the op's result; of an op with several results, a sequence of them, None where
    one is zero. The rule may use operands and results of the op.
    """

    def register(rule: RuleT) -> RuleT:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def rule_of(op: Operation) -> Rule | None:
    """The derivative of an op; None where there is none."""
    if op.name == "graph.call" and DERIVATIVE not in op.attributes:
        return None
    return rule_of_type(type(op))


def rule_of_type(op: type[Operation]) -> Rule | None:
    """The derivative of ops of a class; None where there is none."""
    _read_families()
    return _RULES.get(op)


def ops_with_derivative() -> list[type[Operation]]:
    """The ops that have a rule, by name."""
    _read_families()
    return sorted(_RULES, key=lambda op: op.name)


def zero(op: Operation, dy: object, b: GradientBuilder) -> Cotangents:
    """The derivative of an op that is constant almost everywhere."""
    del dy, b
    return [None] * len(op.operands)


@cache
def _read_families() -> None:
    """Import the rules, which import this table."""
    import_module("stepwell.passes.graph.gradients.derivatives")
