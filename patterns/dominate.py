"""
The step that matches a dominator: the child, the only parent that feeds the child, then all nodes between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from stepwell.patterns.dominators import PostDominators, users_of
from stepwell.patterns.machine import Goals, Machine, Step, Steps
from stepwell.patterns.nodes import Dominates
from stepwell.patterns.values import is_constant_op, owner_of


def dominates_step(pattern: Dominates, steps: Steps, bind: Step) -> Step:
    """The step of a dominator pattern; matches the child at the value, then the parent and the path above."""
    parent, path, child = (steps[part] for part in pattern.parts())

    def above_child(machine: Machine, value: SSAValue, rest: Goals) -> Goals | None:
        root = owner_of(value)
        if root is None or root.parent is None or not inputs_of(root):
            return None
        tree = machine.blocks.tree(root.parent)
        found = machine.memo.get(pattern.parent) or _find_parent(machine, parent, root, tree)
        if found is None or (between := _between(root, found, tree)) is None:
            return None
        for node in between:
            # Bindings of its own: one path pattern matches many different nodes.
            if (bindings := machine.attempt_apart(path, node)) is None:
                return None
            machine.trail += [binding for binding in bindings if not isinstance(binding[0], str)]
        return rest

    def step(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        return (child, value, (above_child, value, (bind, value, rest)))

    return step


def inputs_of(op: Operation) -> list[SSAValue]:
    """The operands along which a parent is searched: all but block arguments and constants."""
    return [v for v in op.operands if (above := owner_of(v)) is not None and not is_constant_op(above)]


def _find_parent(machine: Machine, parent: Step, root: Operation, tree: PostDominators) -> SSAValue | None:
    """The first node above `root` that the parent pattern matches, bound; None where there is none."""
    for node, is_below in _ways_up(root, tree):
        # Parents above a node that `root` does not post-dominate would not be post-dominated either.
        if not is_below or machine.attempt_quietly(parent, node):
            return node if is_below else None
    return None


def _between(root: Operation, parent: SSAValue, tree: PostDominators) -> list[SSAValue] | None:
    """The nodes between `root` and its parent, in program order; None when a path bypasses the parent."""
    found: dict[SSAValue, Operation] = {}
    for node, is_below in _ways_up(root, tree, parent):
        op = owner_of(node)
        if op is None or not is_below:
            return None
        if node is not parent:
            if not inputs_of(op):
                return None
            found[node] = op
    return sorted(found, key=lambda node: tree.position[found[node]])


@dataclass(frozen=True)
class Departure:
    """The place at which a path departs from the pattern between a parent and a child."""

    node: SSAValue
    user: Operation | None
    """The op through which a way leads past the child; None where a way from above the parent begins."""


def departure(root: Operation, parent: SSAValue | None, tree: PostDominators) -> Departure | None:
    """
    A node above `root` that keeps a dominator from matching; None where all of them are between `root` and
    `parent`, or, with no parent, `root` post-dominates all of them.
    """
    for node, is_below in _ways_up(root, tree, parent):
        op = owner_of(node)
        if not is_below and op is not None:
            return _way_past(root, node, tree)
        if parent is not None and node is not parent and (op is None or not inputs_of(op)):
            return Departure(node, None)
    return None


def _way_past(root: Operation, node: SSAValue, tree: PostDominators) -> Departure:
    """The last node that feeds `root` on a way from `node` past it, and the user that no longer does."""
    above: dict[Operation, SSAValue] = {}
    stack = inputs_of(root)
    while stack:
        op = owner_of(value := stack.pop())
        if op is not None and op not in above:
            above[op] = value
            stack += inputs_of(op)
    while True:
        op = owner_of(node)
        assert op is not None
        past = [u for u in users_of(op) if u is not root and not tree.post_dominates(root, u)]
        outside = next((user for user in past if user not in above), None)
        if outside is not None or not past:
            return Departure(node, outside)
        node = above[past[0]]


def _ways_up(
    root: Operation, tree: PostDominators, parent: SSAValue | None = None
) -> Iterator[tuple[SSAValue, bool]]:
    """Yields each node that feeds `root`, up to `parent`, and whether `root` post-dominates it."""
    seen: set[SSAValue] = set()
    stack = inputs_of(root)
    while stack:
        if (node := stack.pop()) in seen:
            continue
        seen.add(node)
        op = owner_of(node)
        if op is None or not tree.post_dominates(root, op):
            yield node, False
        else:
            yield node, True
            if node is not parent:
                stack += inputs_of(op)
