"""`graph.expression` → a `linalg.generic`: affine reads become index maps, other reads stay in the body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.base import plain
from stepwell.dialects.graph.expression_reads import affine_index
from stepwell.dialects.linalg_builder.scalars import signless
from stepwell.dialects.linalg_builder.slices import cut
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Read,
    empty,
    extent,
    filled,
    projection,
)
from stepwell.dialects.tensor_ir.structured import generic, linear, single_dim
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.runtime.dims import Dim


class ExpressionLowering(RewritePattern):
    """`graph.expression` → a `linalg.generic` with a loop an axis; reductions start from a `linalg.fill`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExpressionOp, rewriter: PatternRewriter) -> None:
        """Turn affine reads into operands with maps, and clone the rest of the formula into the body."""
        lowered = _Formula(op, rewriter)
        rewriter.replace(op, [], lowered.structured())


class _Formula:
    """An expression with the extents of loops, and the reads."""

    def __init__(self, op: graph.ExpressionOp, rewriter: PatternRewriter):
        self._op, self._rewriter = op, rewriter
        bound = op.bindings()
        self._extents = [dim.substitute(bound) for dim in (*op.axis_dims, *op.reduce_dims)]
        self._axes = {index: axis for axis, index in enumerate(op.indices)}
        self._inputs = dict(zip(op.tensors, op.inputs, strict=True))
        self._reads: dict[Operation, Read] = {}
        for inner in op.body.block.ops:
            if isinstance(inner, tensor.ExtractOp) and (read := self._affine_read(inner)) is not None:
                self._reads[inner] = read

    def structured(self) -> Sequence[SSAValue]:
        """The results of the `linalg.generic`."""
        op, rank, parallel = self._op, len(self._extents), len(self._op.axes)
        inits = self._inits()
        operands = list(dict.fromkeys(self._reads.values()))
        maps = [map for _, map in operands]
        sources = [value for value, _ in operands]
        for value, map in self._missing_extents(maps):
            sources.append(value)
            maps.append(map)
        block = Block(arg_types=[_element(value) for value in (*sources, *inits)])
        made = dict(zip(operands, block.args, strict=False))
        known: dict[SSAValue, SSAValue] = {
            cast("tensor.ExtractOp", inner).result: made[read] for inner, read in self._reads.items()
        }
        self._fill(block, known, len(sources))
        init_maps = [projection(rank, range(parallel))] * len(inits)
        loops = [PARALLEL] * parallel + [REDUCTION] * len(op.reduce)
        made_op = generic(sources, inits, Region(block), [*maps, *init_maps], loops)
        return self._rewriter.insert(made_op).results

    def _inits(self) -> list[SSAValue]:
        """The tensors that the results start from: of any contents, or filled with the identity."""
        types = [tensor_of(result) for result in self._op.results]
        if not len(self._op.reduce):
            return [empty(type, self._rewriter) for type in types]
        numbers = [cast(float, plain(number)) for number in self._op.identity]
        return [filled(type, number, self._rewriter) for type, number in zip(types, numbers, strict=True)]

    def _fill(self, block: Block, known: dict[SSAValue, SSAValue], inputs: int) -> None:
        """Clone the formula into the body of the structured op, then what combines it with the results."""
        op = self._op
        for axis, index in enumerate(op.indices):
            block.add_op(made := IndexOp(axis))
            known[index] = made.result
        known |= self._inputs
        values = self._cloned(op.body.block, block, known)
        if op.combine.blocks:
            arguments = op.combine.block.args
            known |= dict(zip(arguments, (*block.args[inputs:], *values), strict=True))
            values = self._cloned(op.combine.block, block, known)
        block.add_op(YieldOp(*values))
        erase_dead_ops(block, lambda _: True)

    def _cloned(self, source: Block, into: Block, known: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        """Clone the ops of a block but for affine reads; returns the values that it yields."""
        for inner in source.ops:
            if isinstance(inner, graph.YieldOp):
                return [known.get(value, value) for value in inner.values]
            if isinstance(inner, tensor.DimOp):
                known[inner.result] = self._size(inner)
            elif inner not in self._reads:
                into.add_op(clone := inner.clone(known))
                known |= dict(zip(inner.results, clone.results, strict=True))
        return []

    def _size(self, op: tensor.DimOp) -> SSAValue:
        """The extent of an input, from the symbols of the kernel."""
        axis = cast("IntegerAttr", cast("arith.ConstantOp", op.index.owner).value).value.data
        return extent(dims_of(self._inputs[op.source].type)[axis], self._rewriter)

    def _affine_read(self, op: tensor.ExtractOp) -> Read | None:
        """An input, or a slice of an input, with the map of the read; None for other indices."""
        found = [affine_index(index, self._axes) for index in op.indices]
        indices = [index for index in found if index is not None]
        if len(indices) < len(found) or not all(map(_moves_forward, indices)):
            return None
        value = self._inputs[op.tensor]
        dims = dims_of(value.type)
        windows = [self._window(index, dim) for index, dim in zip(indices, dims, strict=True)]
        offsets, sizes = [window[0] for window in windows], [window[1] for window in windows]
        moved = AffineMap(len(self._extents), 0, tuple(index for _, _, index in windows))
        if all(size == dim for size, dim in zip(sizes, dims, strict=True)):
            return value, moved
        return cut(value, offsets, sizes, [1] * len(sizes), self._rewriter), moved

    def _window(self, index: AffineExpr, dim: Dim) -> tuple[Dim, Dim, AffineExpr]:
        """The first index along a dimension, the number of indices from there on, and the index from it."""
        form = linear(index)
        assert form is not None
        if len(form.terms) == 1 and form.terms[0][1] == 1:
            loop = form.terms[0][0]
            return Dim.of(form.constant), self._extents[loop], AffineExpr.dimension(loop)
        if not form.terms:
            return Dim.of(form.constant), Dim.of(1), AffineExpr.constant(0)
        if form.constant == 0:
            return Dim.of(0), dim, index
        return Dim.of(form.constant), dim - form.constant, index - form.constant

    def _missing_extents(self, maps: Sequence[AffineMap]) -> Iterator[Read]:
        """Operands for the extents of reduced axes that no read is along alone."""
        alone = {single_dim(index) for map in maps for index in map.results}
        for axis in range(len(self._op.axes), len(self._extents)):
            if axis not in alone:
                yield self._of_extent(self._extents[axis], axis)

    def _of_extent(self, extent: Dim, axis: int) -> Read:
        """An input with an extent, and its map, at the first element of other dimensions; or a new tensor."""
        rank = len(self._extents)
        for value in self._op.inputs:
            dims = dims_of(value.type)
            for position, dim in enumerate(dims):
                if dim.proves_equal(extent):
                    indices = [AffineExpr.constant(0)] * len(dims)
                    indices[position] = AffineExpr.dimension(axis)
                    return value, AffineMap(rank, 0, tuple(indices))
        type = tensor_type(self._op.elements.data[0], [extent])
        return empty(type, self._rewriter), projection(rank, [axis])


def _moves_forward(index: AffineExpr) -> bool:
    """Whether an index is a sum of axes, none of which lowers it, and of a constant."""
    form = linear(index)
    return form is not None and form.constant >= 0 and all(factor > 0 for _, factor in form.terms)


def _element(value: SSAValue) -> Attribute:
    return signless(tensor_of(value).element_type)
