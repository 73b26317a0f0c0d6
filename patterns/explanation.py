"""Why a pattern does not match: the deepest partial match, and where it stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from stepwell.patterns.calls import callee_test
from stepwell.patterns.compile import Program, program_of
from stepwell.patterns.dominate import departure
from stepwell.patterns.groups import blocks_of
from stepwell.patterns.machine import Blocks, Goals, Machine, pending
from stepwell.patterns.matching import Match, is_in_one_block
from stepwell.patterns.nodes import (
    Call,
    Constant,
    Dominates,
    Expr,
    FunctionPattern,
    Get,
    HasAttr,
    HasDtype,
    HasShape,
    HasType,
    If,
    Not,
    Op,
    Or,
    Pattern,
    Tuple,
    Var,
    Where,
)
from stepwell.patterns.values import attribute_of, dtype_name, op_name, owner_of, same_attribute
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class Explanation:
    """A failed match: the pattern object, the value at which it failed, and the reason."""

    root: SSAValue
    pattern: Pattern
    value: SSAValue
    reason: str
    progress: int
    """
    Twice the number of pattern objects that had matched, or waited for the failed one; 1 more if the op's
    name matched.
    """

    def __str__(self) -> str:
        label = f"%{self.pattern.label} " if self.pattern.label else ""
        return (
            f"no match at {located_name(self.root)}\n  {label}({describe(self.pattern)}) fails at "
            f"{located_name(self.value)}: {self.reason}"
        )


def explain(pattern: Pattern, value: SSAValue, blocks: Blocks | None = None) -> Explanation | None:
    """
    The reason why a pattern does not match at a value: the deepest failure, the first of equally deep ones.

    Returns: None when it matches.
    """
    program = program_of(pattern)
    machine = Machine(Blocks() if blocks is None else blocks)
    deepest: list[Explanation] = []

    def note(machine: Machine, goals: Goals) -> None:
        found = _failure(program, machine, goals, value)
        if found is not None and (not deepest or found.progress > deepest[0].progress):
            deepest[:] = [found]

    machine.on_failure = note
    if not machine.run((program.step, value, ())):
        return deepest[0] if deepest else Explanation(value, pattern, value, "it does not match", 0)
    if not is_in_one_block(Match(pattern, value, machine)):
        return Explanation(
            value, pattern, value, "what it matches lies in several blocks", len(machine.trail)
        )
    return None


def closest(
    pattern: Pattern, func: Operation, location: str = ""
) -> tuple[list[SSAValue], Explanation | None]:
    """
    The values of a function at which a pattern matches; without a match, the deepest explanation of all
    values.

    Args: `location` restricts the values to ops on a line of the file, or to ops whose location contains the
    text, such as a node's name.
    """
    matched: list[SSAValue] = []
    best: Explanation | None = None
    for value in _values(func):
        if location and not _is_at(value, location):
            continue
        found = explain(pattern, value)
        if found is None:
            matched.append(value)
        elif best is None or found.progress > best.progress:
            best = found
    return matched, None if matched else best


def _values(func: Operation) -> Iterator[SSAValue]:
    for block in blocks_of(func):
        for op in block.ops:
            yield from op.results


def _is_at(value: SSAValue, location: str) -> bool:
    place = describe_location(value.owner)
    return f":{location}:" in place if location.isdigit() else location in place


def _failure(program: Program, machine: Machine, goals: Goals, root: SSAValue) -> Explanation | None:
    waiting: list[tuple[Pattern, SSAValue]] = []
    for step, value in pending(goals):
        if (owner := program.owners.get(step)) is not None:
            waiting.append((owner, value))
    if not waiting:
        return None
    failed, value = waiting[0]
    done = machine.bound_before + len(machine.trail) + len(waiting)
    departed = _departure(failed, value, machine) if isinstance(failed, Dominates) else None
    place, why = departed or (value, reason(failed, value, machine))
    # An op of the right name with other operands or attributes is a better explanation than another op; so
    # is a dominator whose child matches, unless an op on its path is at fault, which is explained itself.
    progress = 2 * done + (departed is not None or _is_named(failed, value))
    return Explanation(root, failed, place, why, progress)


def _departure(pattern: Dominates, value: SSAValue, machine: Machine) -> tuple[SSAValue, str] | None:
    """The value at which a way between a dominator and its parent departs, and how; None where none does."""
    op = owner_of(value)
    if op is None or op.parent is None:
        return None
    parent = machine.memo.get(pattern.parent)
    found = departure(op, parent, machine.blocks.tree(op.parent))
    if found is None:
        return None
    if found.user is not None:
        where = describe_location(found.user)
        user = op_name(found.user) + (f" ({where})" if where else "")
        return found.node, f"{user} uses it too, which leads past {located_name(value)}"
    source = describe(pattern.parent) if parent is None else located_name(parent)
    return found.node, f"a way starts here, which does not come from {source}"


def _is_named(pattern: Pattern, value: SSAValue) -> bool:
    """Whether a value's op has the name that a pattern calls for."""
    op = owner_of(value)
    while isinstance(pattern, Call | HasAttr | HasDtype | HasShape | HasType | Where):
        pattern = pattern.callee if isinstance(pattern, Call) else pattern.inner
    return op is not None and isinstance(pattern, Op) and pattern.name == op_name(op)


def located_name(value: SSAValue) -> str:
    """
    A value in the text of a diagnostic: the name of the op and its location, or the name of the argument.
    """
    name = f"%{value.name_hint}" if value.name_hint else "a value"
    if (op := owner_of(value)) is None:
        return f"{name}, an argument"
    location = describe_location(op)
    return op_name(op) + (f" ({location})" if location else "")


NAMES: dict[type[Pattern], str] = {
    Constant: "a constant",
    Expr: "an expression",
    Tuple: "a tuple",
    Get: "a projection",
    If: "a branch",
    FunctionPattern: "a function",
}


def describe(pattern: Pattern) -> str:
    """A pattern object as a phrase for diagnostics."""
    match pattern:
        case Op():
            return pattern.name
        case Call():
            return describe(pattern.callee)
        case Var():
            return f"argument {pattern.name!r}" if pattern.name else "an argument"
        case Or():
            return " or ".join(describe(arm) for arm in pattern.parts())
        case HasAttr() | HasType() | HasDtype() | HasShape() | Where():
            return f"{describe(pattern.inner)} with a constraint"
        case Dominates():
            return f"{describe(pattern.child)} as a dominator"
        case _:
            return NAMES.get(type(pattern), "any node")


def reason(pattern: Pattern, value: SSAValue, machine: Machine) -> str:
    """The expectation of a pattern object at a value and the finding, as a sentence."""
    op = owner_of(value)
    found = located_name(value) if op is None else op_name(op)
    if (bound := machine.memo.get(pattern)) is not None and bound is not value:
        return f"it is the same object as {located_name(bound)}, found another node"
    match pattern:
        case Call() if op is not None and callee_test(pattern.callee)(op) and pattern.args is not None:
            return f"expected {len(pattern.args)} operands, found {len(op.operands)}"
        case Call() if isinstance(pattern.callee, HasAttr) and _is_named(pattern, value):
            return _attributes(pattern.callee, value)
        case HasAttr() if op is not None:
            return _attributes(pattern, value)
        case Not():
            return f"expected not {describe(pattern.inner)}, found {found}"
        case HasType():
            return f"expected type {pattern.type}, found {value.type}"
        case HasDtype():
            return f"expected elements {pattern.dtype}, found {dtype_name(value.type)}"
        case HasShape():
            return f"expected shape {list(pattern.shape)}, found {value.type}"
        case Where():
            return f"the predicate {pattern.name or 'of where'} does not hold"
        case Dominates():
            if machine.memo.get(pattern.parent) is None:
                return f"no op above it is {describe(pattern.parent)}"
            return f"not every op between it and its parent is {describe(pattern.path)}"
        case _:
            return f"expected {describe(pattern)}, found {found}"


def _attributes(pattern: HasAttr, value: SSAValue) -> str:
    op = owner_of(value)
    assert op is not None
    for name, wanted in pattern.attributes.items():
        found = attribute_of(op, name)
        if found is None or not same_attribute(found, wanted):
            return f"expected {name} = {wanted}, found {'no such attribute' if found is None else found}"
    return "a constant has no attributes"
