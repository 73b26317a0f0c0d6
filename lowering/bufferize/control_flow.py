"""Loops and branches that carry tensors → ones over buffers from outside."""

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
    """A tensor that an `scf.for` carries stays in one buffer: the one it starts in, or a copy of that."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
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
    """A tensor that an `scf.if` results in lies where both branches leave it, or in a buffer of its own."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        for result in op.output:
            if not is_tensor(result):
                continue
            if self.buffers.has_own(result):
                self.buffers.define_own(result, op)
            else:
                self.buffers.define(result, self.buffers[self.buffers.places.branch_origins[result]])


@dataclass(frozen=True)
class YieldBufferize(RewritePattern):
    """What an iteration or a branch ends with is copied to where it is expected, unless it lies there."""

    buffers: Buffers

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.YieldOp, rewriter: PatternRewriter) -> None:
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
    """What a function returns is copied to its outputs, unless it lies there."""

    buffers: Buffers
    outputs: tuple[SSAValue, ...]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: func.ReturnOp, rewriter: PatternRewriter) -> None:
        move_all(list(zip(op.operands, self.outputs, strict=True)), op, self.buffers)


def move_all(moves: Sequence[tuple[SSAValue, SSAValue]], before: Operation, buffers: Buffers) -> None:
    """
    Copy tensors to the places of others, each before what it reads is overwritten.

    `separate_exchanges` saw to it that there is such an order.
    """
    places = buffers.places.of
    pending = [(s, t) for s, t in moves if places[s] != places[t] and not buffers.is_undefined(s)]
    while pending:
        ready = next((move for move in pending if not _is_read_later(move, pending, buffers)), pending[0])
        pending.remove(ready)
        source, target = buffers[ready[0]], buffers[ready[1]]
        if source is not target:  # a buffer of its own may have become the output
            buffers.copy(source, target, before)


def _is_read_later(
    move: tuple[SSAValue, SSAValue], pending: Sequence[tuple[SSAValue, SSAValue]], buffers: Buffers
) -> bool:
    """Whether what a move overwrites is still needed by another."""
    places = buffers.places.of
    return any(
        places[move[1]].may_overlap(places[source], across_iterations=False)
        for source, target in pending
        if target is not move[1]
    )
