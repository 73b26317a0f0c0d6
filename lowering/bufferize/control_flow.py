"""Loops and branches that carry tensors → loops and branches over buffers from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func, scf
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.lowering.bufferize.accesses import carried_tensors, is_tensor
from stepwell.lowering.bufferize.buffers import Buffers


@dataclass(frozen=True)
class ForBufferize(RewritePattern):
    """A tensor carried by an `scf.for` has the buffer of the initial value, or of a copy."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        """Give each carried tensor the buffer of its initial value, or a new one with a copy."""
        for carried in carried_tensors(op):
            if self.buffers.has_own(carried.arg):
                self.buffers.define_own(carried.arg, op)
                if not self.buffers.is_undefined(carried.init):
                    self.buffers.copy(self.buffers[carried.init], self.buffers[carried.arg], op)
            else:
                self.buffers.define(carried.arg, self.buffers[carried.init])
            self.buffers.define(carried.result, self.buffers[carried.arg])


@dataclass(frozen=True)
class IfBufferize(RewritePattern):
    """
    A tensor result of an `scf.if` is in the one buffer of both branches' values, or else in a new buffer.
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        """Give each tensor result the shared buffer of both branches, or a new one."""
        for result in op.output:
            if not is_tensor(result):
                continue
            if self.buffers.has_own(result):
                self.buffers.define_own(result, op)
            else:
                self.buffers.define(result, self.buffers[self.buffers.paths.branch_origins[result]])


@dataclass(frozen=True)
class YieldBufferize(RewritePattern):
    """
    Copies the tensors at the end of an iteration or branch to the buffers of the results, unless they are
    there.
    """

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.YieldOp, rewriter: PatternRewriter) -> None:
        """Copy the yielded tensors to the buffers of the loop's arguments or the branch's results."""
        parent = op.parent_op()
        if isinstance(parent, scf.ForOp):
            moves = [(carried.yielded, carried.arg) for carried in carried_tensors(parent)]
        elif isinstance(parent, scf.IfOp):
            pairs = zip(op.operands, parent.output, strict=True)
            moves = [(value, result) for value, result in pairs if is_tensor(value)]
        else:
            return
        move_all(moves, op, self.buffers)


@dataclass(frozen=True)
class ReturnBufferize(RewritePattern):
    """Copies the returned tensors to the function's outputs, unless they were computed there."""

    buffers: Buffers
    outputs: tuple[SSAValue, ...]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.ReturnOp, rewriter: PatternRewriter) -> None:
        """Copy the returned tensors to the outputs."""
        move_all(list(zip(op.operands, self.outputs, strict=True)), op, self.buffers)


def move_all(moves: Sequence[tuple[SSAValue, SSAValue]], before: Operation, buffers: Buffers) -> None:
    """
    Copy tensors to the buffers of others, each before its target's old contents are needed no more.

    `separate_exchanges` ensured that such an order exists.
    """
    paths = buffers.paths.of
    pending = [(s, t) for s, t in moves if paths[s] != paths[t] and not buffers.is_undefined(s)]
    while pending:
        ready = next((move for move in pending if not _is_read_later(move, pending, buffers)), pending[0])
        pending.remove(ready)
        source, target = buffers[ready[0]], buffers[ready[1]]
        if source is not target:  # a buffer of its own may have become the output
            buffers.copy(source, target, before)


def _is_read_later(
    move: tuple[SSAValue, SSAValue], pending: Sequence[tuple[SSAValue, SSAValue]], buffers: Buffers
) -> bool:
    """Whether another pending move still reads what this move overwrites."""
    paths = buffers.paths.of
    return any(
        paths[move[1]].may_overlap(paths[source], across_iterations=False)
        for source, target in pending
        if target is not move[1]
    )
