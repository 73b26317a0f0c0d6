"""
Steps that match tuples, projections, branches (`scf.if`), definitions (`let`) and functions, part by part.
"""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects.graph.base import plain
from stepwell.patterns.calls import in_order
from stepwell.patterns.machine import Goals, Machine, Step, Steps, cut_to
from stepwell.patterns.nodes import FunctionPattern, Get, If, Let, Tuple, Var, Wildcard
from stepwell.patterns.values import attribute_of, is_function, owner_of

TUPLE = "graph.tuple"
GET = "graph.get"


def tuple_step(pattern: Tuple, steps: Steps, bind: Step) -> Step:
    """The step that matches a `graph.tuple` by its fields."""
    fields = None if pattern.fields is None else [steps[field] for field in pattern.fields]

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        op = owner_of(value)
        if op is None or op.name != TUPLE:
            return None
        if fields is None:
            return bind(machine, value, rest)
        if len(op.operands) != len(fields):
            return None
        return in_order(fields, list(op.operands), (bind, value, rest))

    return step


def get_step(pattern: Get, steps: Steps, bind: Step) -> Step:
    """
    The step that matches a `graph.get`, or the n-th result of an op with several (its first result is the
    tuple).
    """
    source, index = steps[pattern.source], pattern.index

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        if not isinstance(value, OpResult):
            return None
        op = value.op
        if op.name == GET:
            found, whole = plain(attribute_of(op, "index")), op.operands[0]
        elif len(op.results) > 1:
            found, whole = value.index, op.results[0]
        else:
            return None
        if index is not None and found != index:
            return None
        return (source, whole, (bind, value, rest))

    return step


def returned(region: Region, index: int) -> SSAValue | None:
    """The n-th operand of the terminator of a region of one block; None where there is none."""
    if len(region.blocks) != 1 or (last := region.block.last_op) is None or not last.has_trait(IsTerminator):
        return None
    return last.operands[index] if index < len(last.operands) else None


def if_step(pattern: If, steps: Steps, bind: Step) -> Step:
    """
    The step that matches a branch, such as `scf.if`: the condition, then the value that both regions return.
    """
    parts = [steps[part] for part in pattern.parts()]

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        if not isinstance(value, OpResult) or not is_branch(op := value.op):
            return None
        then, otherwise = (returned(region, value.index) for region in op.regions)
        if then is None or otherwise is None:
            return None
        return in_order(parts, [op.operands[0], then, otherwise], (bind, value, rest))

    return step


def is_branch(op: Operation) -> bool:
    """Whether an op runs one of two regions, chosen by the first operand."""
    return op.name.endswith(".if") and len(op.regions) == 2 and bool(op.operands)


def function_step(pattern: FunctionPattern, steps: Steps, bind: Step) -> Step:
    """
    The step that matches a lambda or closed region: first the returned value of the same index, then the
    arguments.
    """
    params = None if pattern.params is None else [steps[param] for param in pattern.params]
    body = steps[pattern.body]

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        if not isinstance(value, OpResult) or not is_function(op := value.op):
            return None
        if (result := returned(op.regions[0], value.index)) is None:
            return None
        goals: Goals = (body, result, (bind, value, rest))
        if params is None:
            return goals
        args = op.regions[0].block.args
        return in_order(params, list(args), goals) if len(args) == len(params) else None

    return step


def let_step(pattern: Let, steps: Steps, bind: Step) -> Step:
    """
    The step that matches a definition and a later value of the same block.

    The definitions before the value are tried in order. The variable matches the definition itself.
    """
    definition, body, var = steps[pattern.value], steps[pattern.body], pattern.var
    any_name = isinstance(var, Wildcard) and var.target is None

    def name_it(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        if not any_name and not (isinstance(var, Var) and var.name in ("", value.name_hint)):
            return (steps[var], value, rest)
        if var in machine.memo:
            return rest if machine.memo[var] is value else None
        machine.memo[var] = value
        machine.trail.append((var, value))
        return rest

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        op = owner_of(value)
        goals: Goals | None = None
        earlier = op.prev_op if op is not None else None
        # The next definition is tried when the body does not match with this one, so the cut comes after the
        # body.
        cut = cut_to(len(machine.choices))
        after: Goals = (body, value, (cut, value, (bind, value, rest)))
        while earlier is not None:
            for result in reversed(earlier.results):
                if goals is not None:
                    machine.choices.append((goals, len(machine.trail)))
                goals = (definition, result, (name_it, result, after))
            earlier = earlier.prev_op
        return goals

    return step
