"""A loop nest under construction, in which each value is computed in the outermost possible loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from xdsl.dialects import memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.tensor_ir.affine_values import combined
from stepwell.runtime.errors import InternalError

_Op = TypeVar("_Op", bound=Operation)


class LoopNest:
    """
    Loops before an op, opened from the outermost to the innermost; level 0 is outside all of them.

    Each level has a builder: index arithmetic is inserted at the level of the innermost loop that it depends
    on, each expression once.
    """

    def __init__(self, op: Operation):
        self._builders = [IRBuilder.before(op)]
        self._indices: dict[AffineExpr, SSAValue] = {}
        self._levels: dict[int, int] = {}

    @property
    def depth(self) -> int:
        """The level of the innermost loop."""
        return len(self._builders) - 1

    def insert(self, op: _Op, level: int | None = None) -> _Op:
        """Add an op to the body of the innermost loop, or of the loop at `level`."""
        return self._builders[self.depth if level is None else level].insert(op)

    def constant(self, value: int) -> SSAValue:
        """An index constant, outside all loops."""
        return self._builders[0].materialize(value)

    def open(self, dim: int, extent: SSAValue, carried: Sequence[SSAValue] = ()) -> scf.ForOp:
        """A loop over dimension `dim`; its body still lacks the `scf.yield` of the carried values."""
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        loop = scf.ForOp(self.constant(0), extent, self.constant(1), carried, Region(block))
        self._enter(dim, self.insert(loop), block)
        return loop

    def open_parallel(self, dim: int, extent: SSAValue) -> scf.ParallelOp:
        """A parallel loop over dimension `dim`, whose iterations are independent."""
        block = Block(arg_types=[INDEX])
        loop = scf.ParallelOp([self.constant(0)], [extent], [self.constant(1)], Region(block))
        self._enter(dim, self.insert(loop), block)
        self.insert(scf.ReduceOp())
        assert block.last_op is not None
        self._builders[-1].move_before(block.last_op)
        return loop

    def open_grid(self, extents: Mapping[int, SSAValue]) -> scf.ParallelOp:
        """A parallel loop over several dimensions."""
        count = len(extents)
        block = Block(arg_types=[INDEX] * count)
        zeros, ones = [self.constant(0)] * count, [self.constant(1)] * count
        loop = self.insert(scf.ParallelOp(zeros, list(extents.values()), ones, Region(block)))
        for dim, index in zip(extents, block.args, strict=True):
            self._indices[AffineDimExpr(dim)] = index
            self._levels[dim] = self.depth + 1
        self._builders[-1].move_before(loop)
        self._builders.append(self._builders[-1].inside(block))
        self.insert(scf.ReduceOp())
        assert block.last_op is not None
        self._builders[-1].move_before(block.last_op)
        return loop

    def close(self, yielded: Sequence[SSAValue] = ()) -> None:
        """End the innermost loop with its yielded values; further ops go after it."""
        block = self._builders[-1].insertion_point.block
        if not isinstance(block.parent_op(), scf.ParallelOp):
            self.insert(scf.YieldOp(*yielded))
        self._builders.pop()
        loop = block.parent_op()
        assert loop is not None
        self._builders[-1].insertion_point = InsertPoint.after(loop)

    def skip(self, dim: int) -> None:
        """Register a dimension of extent 1, whose index is 0, without a loop."""
        self._indices[AffineDimExpr(dim)] = self.constant(0)
        self._levels[dim] = 0

    def level_of(self, exprs: Sequence[AffineExpr]) -> int:
        """The level of the innermost loop that affine expressions depend on."""
        return max((self._levels[dim] for expr in exprs for dim in expr.used_dims()), default=0)

    def index(self, expr: AffineExpr) -> SSAValue:
        """The value of an affine expression over the loops' dimensions."""
        if expr not in self._indices:
            self._indices[expr] = self._compute(expr)
        return self._indices[expr]

    def load(self, buffer: SSAValue, exprs: Sequence[AffineExpr]) -> SSAValue:
        """An element of a buffer, loaded in the outermost loop in which its indices are known."""
        load = memref.LoadOp.get(buffer, [self.index(expr) for expr in exprs])
        return self.insert(load, self.level_of(exprs)).res

    def store(self, value: SSAValue, buffer: SSAValue, exprs: Sequence[AffineExpr]) -> None:
        """Store an element of a buffer in the innermost loop."""
        self.insert(memref.StoreOp.get(value, buffer, [self.index(expr) for expr in exprs]))

    def _enter(self, dim: int, loop: Operation, block: Block) -> None:
        """Continue in the body of a new loop, whose argument is the index of `dim`."""
        self._builders[-1].move_before(loop)
        self._builders.append(self._builders[-1].inside(block))
        self._indices[AffineDimExpr(dim)] = block.args[0]
        self._levels[dim] = self.depth

    def _compute(self, expr: AffineExpr) -> SSAValue:
        """The value of an affine expression that is not computed yet."""
        match expr:
            case AffineConstantExpr(value):
                return self.constant(value)
            case AffineBinaryOpExpr(AffineBinaryOpKind.Mod, left, right):
                return self._compute(left + (left // right) * right * -1)
            case AffineBinaryOpExpr(kind, left, right):
                at = self._builders[self.level_of([expr])]
                return at.materialize(combined(at, kind, self.index(left), self.index(right)))
            case _:
                raise InternalError(self._builders[0].location, f"index expression {expr} in a loop nest")
