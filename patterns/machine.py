"""
What runs compiled patterns: goals to do, choices to come back to, and a log of what was bound.

Goals are linked cells, so that coming back to a choice costs nothing; there is no recursion over the depth of
a pattern or of a graph. A choice that succeeded is cut: nothing that fails later reopens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from stepwell.patterns.dominators import PostDominators
from stepwell.patterns.nodes import Pattern
from stepwell.runtime.dims import Dim

Goals: TypeAlias = "tuple[Step, SSAValue, Goals] | tuple[()]"
Step: TypeAlias = "Callable[[Machine, SSAValue, Goals], Goals | None]"
"""Does one thing to a value, given the goals after it: returns the goals to go on with, or None to fail."""

Binding: TypeAlias = "tuple[Pattern | str, SSAValue | None]"
Steps: TypeAlias = "dict[Pattern, Step]"


class Blocks:
    """The post-dominator trees of blocks, each built when it is first asked for."""

    def __init__(self) -> None:
        self._trees: dict[Block, PostDominators] = {}

    def tree(self, block: Block) -> PostDominators:
        """The tree of a block, as it was when it was first asked for."""
        if (tree := self._trees.get(block)) is None:
            tree = self._trees[block] = PostDominators(block)
        return tree

    def forget(self, block: Block) -> None:
        """A block has changed."""
        self._trees.pop(block, None)


class Machine:
    """One match in progress."""

    def __init__(self, blocks: Blocks):
        self.blocks = blocks
        self.memo: dict[Pattern, SSAValue] = {}
        self.symbols: dict[str, Dim] = {}
        self.trail: list[Binding] = []
        """What was bound, in order: patterns to nodes, and names of symbols (with None)."""
        self.choices: list[tuple[Goals, int]] = []
        self.bound_before = 0
        """How much the match had bound that this one is a part of, with bindings of its own."""
        self.on_failure: Callable[[Machine, Goals], None] | None = None

    def run(self, goals: Goals) -> bool:
        """Do all goals. When that fails, some bindings stay: `attempt` undoes them."""
        while goals:
            step, value, rest = goals
            following = step(self, value, rest)
            if following is None:
                if self.on_failure is not None:
                    self.on_failure(self, goals)
                if not self.choices:
                    return False
                goals, mark = self.choices.pop()
                self.undo(mark)
            else:
                goals = following
        return True

    def attempt(self, step: Step, value: SSAValue) -> bool:
        """Do one step and all that follows from it, on its own; a failure undoes what it bound."""
        outer, self.choices = self.choices, []
        mark = len(self.trail)
        done = self.run((step, value, ()))
        self.choices = outer
        if not done:
            self.undo(mark)
        return done

    def attempt_quietly(self, step: Step, value: SSAValue) -> bool:
        """`attempt`, where a failure is nothing to explain."""
        noted, self.on_failure = self.on_failure, None
        done = self.attempt(step, value)
        self.on_failure = noted
        return done

    def attempt_apart(self, step: Step, value: SSAValue) -> list[Binding] | None:
        """Do a step with bindings of its own, those so far visible. Returns: them, or None if it failed."""
        apart = Machine(self.blocks)
        apart.memo = dict(self.memo)
        apart.symbols = dict(self.symbols)
        apart.on_failure = self.on_failure
        apart.bound_before = self.bound_before + len(self.trail)
        return apart.trail if apart.run((step, value, ())) else None

    def choose(self, otherwise: Goals) -> Step:
        """Come back to `otherwise` when what follows fails. Returns: the goal that cuts this choice."""
        depth = len(self.choices)
        self.choices.append((otherwise, len(self.trail)))
        return cut_to(depth)

    def undo(self, mark: int) -> None:
        """Forget what was bound since the log had `mark` entries."""
        while len(self.trail) > mark:
            key, _ = self.trail.pop()
            if isinstance(key, str):
                del self.symbols[key]
            else:
                self.memo.pop(key, None)

    def bind_symbol(self, name: str, dim: Dim) -> bool:
        """Bind a symbol to a dimension; False when it is bound to another."""
        if (known := self.symbols.get(name)) is not None:
            return known == dim
        self.symbols[name] = dim
        self.trail.append((name, None))
        return True


def pending(goals: Goals) -> Iterator[tuple[Step, SSAValue]]:
    """Goals in the order in which they will be done."""
    cells = [goals]
    while cell := cells.pop():
        step, value, rest = cell
        yield step, value
        cells.append(rest)


@cache
def cut_to(depth: int) -> Step:
    """The goal that drops all choices made since there were `depth`."""

    def cut(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        del machine.choices[depth:]
        return rest

    return cut
