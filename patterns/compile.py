"""
Compilation of patterns to closures: a step for each pattern object; a step returns the goals that remain.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import BlockArgument, SSAValue

from stepwell.patterns.calls import call_step, callee_test
from stepwell.patterns.constraints import constraint_test
from stepwell.patterns.constructs import function_step, get_step, if_step, let_step, tuple_step
from stepwell.patterns.dominate import dominates_step
from stepwell.patterns.machine import Goals, Machine, Step, Steps
from stepwell.patterns.nodes import (
    And,
    Call,
    Constant,
    Constraint,
    Dominates,
    Expr,
    FunctionPattern,
    Get,
    If,
    Let,
    Not,
    Op,
    Or,
    Pattern,
    Tuple,
    Var,
    Wildcard,
    ill_formed,
    inner_patterns,
    parts_first,
    reachable,
)
from stepwell.patterns.values import is_constant_op, owner_of, same_expression

Test = Callable[[SSAValue], bool]


class Program:
    """A compiled pattern: maps each pattern object inside to its step."""

    def __init__(self, pattern: Pattern):
        self.recursive = recursive_patterns(pattern)
        for inner in self.recursive:
            _expect_progress(inner)
        self.steps: Steps = {}
        self.owners: dict[Step, Pattern] = {}
        """
        The pattern object of each step, and of the binding after it, by which `explain` names a failed step.
        """
        for inner in inner_first(pattern):
            self.add(inner)
        self.step = self.steps[pattern]

    def add(self, pattern: Pattern) -> None:
        """Compile a pattern object; its parts come first."""
        if pattern in self.steps:
            return
        if pattern in self.recursive:  # matches another node each time, so the memo is not consulted
            bind = _record_step(pattern)
            step = self.steps[pattern] = _body(self, pattern, bind)
            self.owners |= {bind: pattern, step: pattern}
            return
        bind = _bind_step(pattern)
        body = _body(self, pattern, bind)

        def enter(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
            if (seen := machine.memo.get(pattern)) is not None:
                return rest if seen is value else None
            return body(machine, value, rest)

        self.steps[pattern] = enter
        self.owners |= {bind: pattern, enter: pattern}


def program_of(pattern: Pattern) -> Program:
    """A pattern compiled, once. Raises: StepwellError `bad-pattern`."""
    if not isinstance(pattern.program, Program):
        pattern.program = Program(pattern)
    return pattern.program


def inner_first(pattern: Pattern) -> list[Pattern]:
    """All objects of a pattern in post order: parts before the objects that contain them."""
    return parts_first(reachable(pattern), lambda current: current.parts())


def recursive_patterns(pattern: Pattern) -> set[Pattern]:
    """The pattern objects that contain themselves through a redirected wildcard."""
    found: set[Pattern] = set()
    for wildcard in [p for p in reachable(pattern) if isinstance(p, Wildcard) and p.target is not None]:
        inside = list(reachable(wildcard))
        users: dict[Pattern, list[Pattern]] = {}
        for outer in inside:
            for inner in inner_patterns(outer):
                users.setdefault(inner, []).append(outer)
        stack = list(users.get(wildcard, ()))
        while stack:
            current = stack.pop()
            if current not in found:
                found.add(current)
                stack += users.get(current, ())
    return found


def _expect_progress(pattern: Pattern) -> None:
    """Refuse a recursive pattern that would be matched at the same node without end."""
    stack = [pattern]
    seen: set[Pattern] = set()
    while stack:
        here = _on_same_node(stack.pop())
        if pattern in here:
            raise ill_formed("a recursion must go through an op, or it never ends")
        stack += here - seen
        seen |= here


def _on_same_node(pattern: Pattern) -> set[Pattern]:
    """The parts of a pattern that are matched at the pattern's own node, not at an operand."""
    match pattern:
        case Wildcard():
            return set() if pattern.target is None else {pattern.target}
        case Or() | And() | Not() | Constraint():
            return set(pattern.parts())
        case Dominates():
            return {pattern.child}
        case Let():
            return {pattern.body}
        case _:
            return set()


def _bind_step(pattern: Pattern) -> Step:
    def bind(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        machine.memo[pattern] = value
        machine.trail.append((pattern, value))
        return rest

    return bind


def _record_step(pattern: Pattern) -> Step:
    def record(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        machine.trail.append((pattern, value))
        return rest

    return record


def _body(program: Program, pattern: Pattern, bind: Step) -> Step:
    """The step of a pattern object that is not bound to a node yet; `bind` is the step that binds it."""
    steps = program.steps
    match pattern:
        case Wildcard():
            pattern.in_use = True
            return bind if pattern.target is None else _redirected(pattern.target, steps, bind)
        case Var() | Constant() | Expr() | Op():
            return _tested(_leaf_test(pattern), bind)
        case Call():
            return call_step(pattern, steps, bind, program.add)
        case Or():
            return _or_step(steps[pattern.left], steps[pattern.right], bind)
        case And():
            return _and_step(steps[pattern.left], steps[pattern.right], bind)
        case Not():
            return _not_step(steps[pattern.inner])
        case Constraint():
            return _and_step(steps[pattern.inner], constraint_test(pattern), bind)
        case Tuple():
            return tuple_step(pattern, steps, bind)
        case Get():
            return get_step(pattern, steps, bind)
        case If():
            return if_step(pattern, steps, bind)
        case Let():
            return let_step(pattern, steps, bind)
        case FunctionPattern():
            return function_step(pattern, steps, bind)
        case Dominates():
            return dominates_step(pattern, steps, bind)
        case _:
            raise ill_formed(f"{type(pattern).__name__} is no pattern of the language")


def _leaf_test(pattern: Var | Constant | Expr | Op) -> Test:
    match pattern:
        case Var():
            name = pattern.name
            return lambda value: isinstance(value, BlockArgument) and name in ("", value.name_hint)
        case Constant():
            return lambda value: (op := owner_of(value)) is not None and is_constant_op(op)
        case Expr():
            wanted = pattern.value
            return lambda value: same_expression(wanted, value)
        case Op():
            test = callee_test(pattern)
            return lambda value: (op := owner_of(value)) is not None and test(op)


def _tested(test: Test, bind: Step) -> Step:
    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        return bind(machine, value, rest) if test(value) else None

    return step


def _redirected(target: Pattern, steps: Steps, bind: Step) -> Step:
    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        return (steps[target], value, (bind, value, rest))

    return step


def _or_step(left: Step, right: Step, bind: Step) -> Step:
    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        after = (bind, value, rest)
        cut = machine.choose((right, value, after))
        return (left, value, (cut, value, after))

    return step


def _and_step(first: Step, second: Step, bind: Step) -> Step:
    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        return (first, value, (second, value, (bind, value, rest)))

    return step


def _not_step(inner: Step) -> Step:
    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        mark = len(machine.trail)
        matched = machine.attempt_quietly(inner, value)  # to fail is what it should
        machine.undo(mark)
        return None if matched else rest

    return step
