"""
The order of ops in structured control flow: before, after, inside, in a later iteration, in exclusive
branches.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, Operation, SSAValue

_LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)


class Timeline:
    """Positions of the ops of a function in program order; an op with regions spans an interval."""

    def __init__(self, body: Block):
        self.start: dict[Operation, int] = {}
        self.inside: dict[Operation, int] = {}
        """When the regions of an op begin: after its start, so that a loop precedes its carried values."""
        self.end: dict[Operation, int] = {}
        self._loops: dict[Operation, tuple[Operation, ...]] = {}
        self._clock = 0
        self._walk(body, ())

    def _walk(self, block: Block, loops: tuple[Operation, ...]) -> None:
        """Number the ops of a block, those in regions in between."""
        for op in block.ops:
            self.start[op], self.inside[op] = self._clock + 1, self._clock + 2
            self._clock += 2
            self._loops[op] = loops
            if op.regions and not isinstance(op, LinalgStructuredOperation):  # whose body is one event
                inside = (*loops, op) if isinstance(op, _LOOPS) else loops
                for region in op.regions:
                    for inner in region.blocks:
                        self._walk(inner, inside)
            self._clock += 1
            self.end[op] = self._clock

    def defined(self, value: SSAValue) -> int:
        """
        When a value is defined: at the end of its op, or at the start of the region whose argument it is.
        """
        owner = value.owner
        if isinstance(owner, Operation):
            return self.end[owner]
        parent = owner.parent_op()
        return self.inside.get(parent, 0) if parent is not None else 0

    def maker(self, value: SSAValue) -> Operation:
        """The op that defines a value, or whose region has it as an argument."""
        owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        assert owner is not None
        return owner

    def loops_around(self, op: Operation) -> tuple[Operation, ...]:
        """The loops around an op, outermost first."""
        return self._loops[op]

    def last_moment(self, user: Operation, made_by: Operation) -> int:
        """
        When `user` no longer needs a result of `made_by`: after all loops around it that do not contain
        `made_by`.
        """
        while user not in self.end:  # inside the body of a structured op
            parent = user.parent_op()
            assert parent is not None
            user = parent
        around = self._loops.get(made_by, ())
        repeating = [self.end[loop] for loop in self._loops[user] if loop not in around]
        return max([self.end[user], *repeating])

    def are_in_different_branches(self, a: Operation, b: Operation) -> bool:
        """Whether the ops are in different branches of the same `scf.if`."""
        branches: dict[Operation, Block] = {}
        for op, block in _ancestry(a):
            branches[op] = block
        for op, block in _ancestry(b):
            if op in branches:
                return isinstance(op, scf.IfOp) and branches[op] is not block
        return False


def _ancestry(op: Operation) -> Iterator[tuple[Operation, Block]]:
    """The ops around an op from the inside out, each with its block that contains the op."""
    block = op.parent
    while block is not None and (parent := block.parent_op()) is not None:
        yield parent, block
        block = parent.parent
