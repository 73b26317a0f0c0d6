"""
Reads and writes at positions that are data → `linalg.generic` with `tensor.extract`, or loops.

An index outside its dimension is clamped to the nearest one inside, so that no access leaves the tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import scf, tensor
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.scatter import ScatterOp
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.slices import INDICES, collected, copied, layer_of, with_layer
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Read,
    counted_loop,
    elementwise,
    empty,
    extent,
    generic,
    identity,
    inserted,
    loop_index,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


class GatherLowering(RewritePattern):
    """`graph.gather` → elements read with an index tensor's entry in place of the index along `axis`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherOp, rewriter: PatternRewriter) -> None:
        """
        Read one index for each position of the index tensor, and the operand at that index along `axis`.
        """
        axis, batch = op.axis.value.data, op.batch_dims.value.data
        index_rank, rank = len(dims_of(op.indices.type)), len(dims_of(op.result.type))
        after = axis + index_rank - batch
        size = extent(dims_of(op.input.type)[axis], rewriter)
        scalars = Scalars(element_of_value(op.indices))
        index_loops = [*range(batch), *range(axis, after)]

        def positions(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            index = INDICES.from_end(INDICES.from_scalar(read[0], scalars), size)
            return [*loops[:axis], index, *loops[after:]]

        reads = [(op.indices, projection(rank, index_loops))]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, positions, rewriter)])


class GatherElementsLowering(RewritePattern):
    """`graph.gather_elements` → elements read at their own position, except along `axis`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherElementsOp, rewriter: PatternRewriter) -> None:
        """Replace the index along `axis` by the entry of `indices` at the same position."""
        axis, rank = op.axis.value.data, len(dims_of(op.result.type))
        size = extent(dims_of(op.input.type)[axis], rewriter)
        scalars = Scalars(element_of_value(op.indices))

        def positions(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            index = INDICES.from_end(INDICES.from_scalar(read[0], scalars), size)
            return [*loops[:axis], index, *loops[axis + 1 :]]

        reads = [(op.indices, projection(rank, range(rank)))]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, positions, rewriter)])


class GatherNdLowering(RewritePattern):
    """`graph.gather_nd` → elements read at positions given by the rows of the index tensor."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherNdOp, rewriter: PatternRewriter) -> None:
        """Read all columns of an index row as the leading indices after the batch dimensions."""
        batch, rank = op.batch_dims.value.data, len(dims_of(op.result.type))
        index_dims, dims = dims_of(op.indices.type), dims_of(op.input.type)
        taken, leading = index_dims[-1].value, len(index_dims) - 1
        sizes = [extent(dim, rewriter) for dim in dims[batch : batch + taken]]
        scalars = Scalars(element_of_value(op.indices))

        def positions(loops: Sequence[SSAValue], read: Sequence[SSAValue]) -> list[SSAValue]:
            at = [
                INDICES.from_end(INDICES.from_scalar(number, scalars), size)
                for number, size in zip(read, sizes, strict=True)
            ]
            return [*loops[:batch], *at, *loops[leading:]]

        reads = [_column(op.indices, rank, i) for i in range(taken)]
        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, reads, positions, rewriter)])


def _column(indices: SSAValue, rank: int, column: int) -> Read:
    """The index tensor with the map of a column, which is a coordinate of each position."""
    leading = [AffineExpr.dimension(loop) for loop in range(len(dims_of(indices.type)) - 1)]
    return indices, AffineMap(rank, 0, (*leading, AffineExpr.constant(column)))


class OneHotLowering(RewritePattern):
    """`graph.one_hot` → a comparison of the index with that of the new loop along `axis`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.OneHotOp, rewriter: PatternRewriter) -> None:
        """Emit `index == loop index` for each element, true at one position of `axis`."""
        axis = op.axis.value.data
        rank = len(dims_of(op.result.type))
        scalars = Scalars(element_of_value(op.indices))

        def body(operands: Sequence[SSAValue]) -> SSAValue:
            return scalars.compare("eq", operands[0], scalars.from_index(loop_index(axis)))

        read = (op.indices, projection(rank, [loop for loop in range(rank) if loop != axis]))
        write = (empty(tensor_of(op.result), rewriter), identity(rank))
        rewriter.replace(op, [], [generic([read], write, [PARALLEL] * rank, body, rewriter)])


Positions: TypeAlias = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
Combine: TypeAlias = Callable[[Scalars, SSAValue, SSAValue], SSAValue]


def _sum(scalars: Scalars, old: SSAValue, new: SSAValue) -> SSAValue:
    """The sum; of truth values whether one is true."""
    return scalars.maximum(old, new) if scalars.is_bool else scalars.add(old, new)


COMBINE: dict[str, Combine] = {
    "none": lambda scalars, old, new: new,
    "add": _sum,
    "mul": Scalars.multiply,
    "max": Scalars.maximum,
    "min": Scalars.minimum,
}


class ScatterElementsLowering(RewritePattern):
    """`graph.scatter_elements` → loops over the updates, in order, that write into a copy."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScatterElementsOp, rewriter: PatternRewriter) -> None:
        """Write each update at its own position, with the index along `axis` from `indices`."""
        axis = op.axis.value.data
        size = extent(dims_of(op.input.type)[axis], rewriter)
        scalars = Scalars(element_of_value(op.indices))

        def positions(loops: Sequence[SSAValue]) -> list[SSAValue]:
            index = tensor.ExtractOp.create(operands=[op.indices, *loops], result_types=[scalars.type])
            at = INDICES.from_end(INDICES.from_scalar(index.results[0], scalars), size)
            return [*loops[:axis], at, *loops[axis + 1 :]]

        rewriter.replace(op, [], [_scattered(op, positions, rewriter)])


class ScatterNdLowering(RewritePattern):
    """
    `graph.scatter_nd` → loops over the updates, in order, that write into a copy.

    Where each index row names a whole slice of the operand, slices are written instead of elements.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScatterNdOp, rewriter: PatternRewriter) -> None:
        """
        Choose between slices and single elements, and compute the position of an update from its index row.
        """
        index_dims, dims = dims_of(op.indices.type), dims_of(op.input.type)
        taken, leading = index_dims[-1].value, len(index_dims) - 1
        sizes = [extent(dim, rewriter) for dim in dims[:taken]]
        scalars = Scalars(element_of_value(op.indices))

        def positions(loops: Sequence[SSAValue]) -> list[SSAValue]:
            at: list[SSAValue] = []
            for column, size in enumerate(sizes):
                operands = [op.indices, *loops[:leading], INDICES.constant(column)]
                number = tensor.ExtractOp.create(operands=operands, result_types=[scalars.type])
                at.append(INDICES.from_end(INDICES.from_scalar(number.results[0], scalars), size))
            return [*at, *loops[leading:]]

        rows = zip(dims[taken:], dims_of(op.updates.type)[leading:], strict=True)
        # Slices whose extents are not provably equal are written element by element.
        has_rows = 0 < taken < len(dims) and leading > 0 and all(a.proves_equal(b) for a, b in rows)
        result = (
            _scattered_rows(op, leading, positions, rewriter)
            if has_rows
            else _scattered(op, positions, rewriter)
        )
        rewriter.replace(op, [], [result])


def _scattered_rows(
    op: graph.ScatterNdOp, leading: int, positions: Positions, rewriter: PatternRewriter
) -> SSAValue:
    """
    A copy of the operand after all updates, slice by slice; `positions` gives the leading indices of a slice.
    """
    dims, type = dims_of(op.updates.type), tensor_of(op.input)
    taken = len(dims_of(type)) - (len(dims) - leading)
    scalars, row = Scalars(type.element_type), [Dim.of(1)] * taken + list(dims[leading:])

    def step(loops: list[SSAValue], into: SSAValue) -> SSAValue:
        if len(loops) < leading:
            count = extent(dims[len(loops)], rewriter)
            (result,) = counted_loop(
                count, [into], lambda index, carried: [step([*loops, index], carried[0])], rewriter
            )
            return result
        at = dict(enumerate(inserted(lambda: positions(loops), rewriter)))
        new = layer_of(op.updates, dict(enumerate(loops)), rewriter)
        new = split_dims(join_dims(new, [dims_of(new.type)], rewriter), [row], rewriter)
        if op.combine.data != "none":
            combine = COMBINE[op.combine.data]
            old = layer_of(into, at, rewriter)
            kept = tensor_type(type.element_type, row)
            new = elementwise(kept, [old, new], lambda s: combine(scalars, *s), op, rewriter)
        return with_layer(new, into, at, rewriter)

    return step([], copied(op.input, rewriter))


def _scattered(op: ScatterOp, positions: Positions, rewriter: PatternRewriter) -> SSAValue:
    """A copy of the operand after all updates, one element at a time; `positions` gives their indices."""
    element = element_of_value(op.updates)
    scalars, stored = Scalars(element), signless(element)
    sizes = [extent(dim, rewriter) for dim in dims_of(op.updates.type)]

    def write(into: SSAValue, loops: Sequence[SSAValue]) -> SSAValue:
        at = positions(loops)
        new = tensor.ExtractOp.create(operands=[op.updates, *loops], result_types=[stored]).results[0]
        if op.combine.data != "none":
            old = tensor.ExtractOp.create(operands=[into, *at], result_types=[stored]).results[0]
            combine = COMBINE[op.combine.data]
            new = scalars.narrow(combine(scalars, scalars.widen(old), scalars.widen(new)))
        return tensor.InsertOp.create(operands=[new, into, *at], result_types=[into.type]).results[0]

    copy = copied(op.input, rewriter)
    return inserted(lambda: _loops(sizes, copy, [], write), rewriter)


def _loops(
    sizes: Sequence[SSAValue],
    carried: SSAValue,
    outer: list[SSAValue],
    body: Callable[[SSAValue, Sequence[SSAValue]], SSAValue],
) -> SSAValue:
    """Nested loops around a body that carry one tensor from iteration to iteration."""
    if not sizes:
        return body(carried, outer)
    block = Block(arg_types=[IndexType(), carried.type])
    with ImplicitBuilder(block) as (index, inner):
        scf.YieldOp(_loops(sizes[1:], inner, [*outer, index], body))
    zero, one = INDICES.constant(0), INDICES.constant(1)
    return scf.ForOp(zero, sizes[0], one, [carried], Region(block)).results[0]
