"""
The machine that runs compiled patterns: goals to do, choices for backtracking, and a log of bindings.

Goals are linked cells, so that backtracking to a choice costs nothing; there is no recursion over the depth
of a pattern or of a graph. A choice that succeeded is cut: nothing that fails later reopens it.
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
"""
Matches one pattern object at a value, given the goals after it; returns the next goals, or None to fail.
"""

Binding: TypeAlias = "tuple[Pattern | str, SSAValue | None]"
Steps: TypeAlias = "dict[Pattern, Step]"


class Blocks:
    """The post-dominator trees of blocks, each built when it is first asked for."""

    def __init__(self) -> None:
        self._trees: dict[Block, PostDominators] = {}

    def tree(self, block: Block) -> PostDominators:
        """The tree of a block, built at the first call and unchanged until `forget`."""
        if (tree := self._trees.get(block)) is None:
            tree = self._trees[block] = PostDominators(block)
        return tree

    def forget(self, block: Block) -> None:
        """Drop the tree of a block, after the block has changed."""
        self._trees.pop(block, None)


class Machine:
    """A match in progress: the bindings so far, and the choices to backtrack to."""

    def __init__(self, blocks: Blocks):
        self.blocks = blocks
        self.memo: dict[Pattern, SSAValue] = {}
        self.symbols: dict[str, Dim] = {}
        self.trail: list[Binding] = []
        """The bindings in order: patterns with nodes, and names of symbols (with None)."""
        self.choices: list[tuple[Goals, int]] = []
        self.bound_before = 0
        """The number of bindings of the enclosing match, if this is a part of it with bindings of its own."""
        self.on_failure: Callable[[Machine, Goals], None] | None = None

    def run(self, goals: Goals) -> bool:
        """
        Do all goals; False when some goal fails without another choice. Bindings then remain: `attempt`
        undoes them.
        """
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
        """Match a step and its goals without choices of the outer match; a failure undoes the bindings."""
        outer, self.choices = self.choices, []
        mark = len(self.trail)
        done = self.run((step, value, ()))
        self.choices = outer
        if not done:
            self.undo(mark)
        return done

    def attempt_quietly(self, step: Step, value: SSAValue) -> bool:
        """`attempt` without calling `on_failure`, for failures that are expected."""
        noted, self.on_failure = self.on_failure, None
        done = self.attempt(step, value)
        self.on_failure = noted
        return done

    def attempt_apart(self, step: Step, value: SSAValue) -> list[Binding] | None:
        """
        Match a step in a separate machine, which starts with these bindings. Returns: the new bindings, or
        None.
        """
        apart = Machine(self.blocks)
        apart.memo = dict(self.memo)
        apart.symbols = dict(self.symbols)
        apart.on_failure = self.on_failure
        apart.bound_before = self.bound_before + len(self.trail)
        return apart.trail if apart.run((step, value, ())) else None

    def choose(self, otherwise: Goals) -> Step:
        """Backtrack to `otherwise` when the following goals fail. Returns: the goal that cuts this choice."""
        depth = len(self.choices)
        self.choices.append((otherwise, len(self.trail)))
        return cut_to(depth)

    def undo(self, mark: int) -> None:
        """Undo the bindings after the first `mark` entries of the log."""
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
    """The step that drops all but the first `depth` choices."""

    def cut(machine: Machine, value: SSAValue, rest: Goals) -> Goals:
        del machine.choices[depth:]
        return rest

    return cut
