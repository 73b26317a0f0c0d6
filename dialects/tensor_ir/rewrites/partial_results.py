"""Reductions in two stages: results of parts of a loop, which another op combines."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import NAME
from stepwell.dialects.tensor_ir.combiners import Combiner, combined
from stepwell.dialects.tensor_ir.rewrites.split_loops import LoopSplit
from stepwell.dialects.tensor_ir.structured import Structured, generic, tensor_element
from stepwell.dialects.tensor_ir.tiles import dim_size, extent


@dataclass(frozen=True)
class PartialResults:
    """A reduction whose loop `dim`, or a part of it, becomes a dimension of partial results."""

    view: Structured
    combiner: Combiner
    dim: int
    split: LoopSplit | None = None
    is_outer: bool = True
    """Whether the outer part of the split is the new dimension."""
    axis: int = 0
    """The position of the new dimension in the partial results."""

    def write(self, name: str) -> tuple[linalg.GenericOp, linalg.GenericOp]:
        """The op of partial results, of that name, and the op that combines these, in place of the op."""
        emit = IRBuilder.before(self.view.op)
        first = self._partial(emit, name)
        last = self._combined(emit, first.results[0])
        hint = self.view.op.results[0].name_hint
        last.attributes |= self.view.op.attributes
        Rewriter.replace_op(self.view.op, [], list(last.results))
        last.results[0].name_hint = hint
        return first, last

    @property
    def _moved(self) -> int:
        """The loop of the partial op that is the new dimension."""
        if self.split is None:
            return self.dim
        return self.split.outer if self.is_outer else self.split.inner

    def _partial(self, emit: IRBuilder, name: str) -> linalg.GenericOp:
        view, split = self.view, self.split
        rank = view.rank + (split is not None)
        operands, maps = list(view.inputs), list(view.maps[: len(view.inputs)])
        if split is not None:
            operands = [split.operand(emit, v, m) for v, m in zip(operands, maps, strict=True)]
            maps = [split.map(map, rank) for map in maps]
        indices = list(view.init_maps[0].results)
        indices.insert(self.axis, AffineDimExpr(self._moved))
        start = self._start(emit)
        op = view.op
        assert isinstance(op, linalg.GenericOp)  # a fill has no reduction
        kinds = [*op.iterator_types.data, *[IteratorTypeAttr.reduction()] * (split is not None)]
        kinds[self._moved] = IteratorTypeAttr.parallel()
        maps = [*maps, AffineMap(rank, 0, tuple(indices))]
        made = emit.insert(generic(operands, [start], op.body.clone(), maps, kinds))
        made.attributes[NAME] = StringAttr(name)
        made.results[0].name_hint = name
        return made

    def _start(self, emit: IRBuilder) -> SSAValue:
        """The partial results before any step: the neutral element."""
        init = self.view.inits[0]
        sizes: list[Index] = [
            dim_size(emit, init, axis) for axis in range(len(self.view.init_maps[0].results))
        ]
        sizes.insert(self.axis, self._size(emit))
        element = tensor_element(init)
        empty = emit.empty(element, sizes)
        neutral = emit.number(self.combiner.neutral, element)
        return emit.insert(linalg.FillOp([neutral], [empty], [empty.type])).results[0]

    def _size(self, emit: IRBuilder) -> Index:
        if self.split is not None:
            return self.split.extents[0 if self.is_outer else 1]
        return extent(emit, self.view, self.dim)

    def _combined(self, emit: IRBuilder, partial: SSAValue) -> linalg.GenericOp:
        """The op that combines partial results, in their order."""
        init = self.view.inits[0]
        rank, element = len(self.view.init_maps[0].results), tensor_element(init)
        block = Block(arg_types=[element, element])
        inside = IRBuilder.at_end(block, self.view.op.location)
        total = combined(inside, self.combiner.kind, block.args[1], block.args[0])
        inside.insert(linalg.YieldOp(total))
        loops: list[AffineExpr] = [AffineDimExpr(d) for d in range(rank)]
        read = [*loops]
        read.insert(self.axis, AffineDimExpr(rank))
        maps = [AffineMap(rank + 1, 0, tuple(read)), AffineMap(rank + 1, 0, tuple(loops))]
        kinds = [*[IteratorTypeAttr.parallel()] * rank, IteratorTypeAttr.reduction()]
        return emit.insert(generic([partial], [init], Region(block), maps, kinds))
