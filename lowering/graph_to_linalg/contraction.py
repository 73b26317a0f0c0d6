"""
Contractions → `linalg.generic` that multiplies and adds, in the forms that schedules know.

Sums are kept in f32 for 16-bit floats and rounded once at the end; they start from a `linalg.fill` of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.arith import DotBfloatsOp, DotBytesOp, DotShortsOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.sums import accumulated, accumulator, rounded, sum_of_products
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    empty,
    filled,
    generic,
    identity,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim


class MatmulLowering(RewritePattern):
    """
    `graph.matmul` → a `linalg.generic` with loops [batch, m, n, k]; n is [panel, lane] for a packed b.

    With a packed b the result is a view of the row-major one: panels times lanes are the columns.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter) -> None:
        """Emit one sum of products over k, then join panels and lanes to the columns of the result."""
        result = tensor_of(op.result)
        dims = list(dims_of(result))
        groups = [[dim] for dim in dims]
        if op.panel:
            groups[-1] = [dims_of(op.b.type)[0], Dim.of(op.panel)]
            dims = [dim for group in groups for dim in group]
        reads = self._a_read(op, dims), self._b_read(op, dims)
        if op.pairs.value.data:
            value = accumulated(reads, f32, dims, 1, pairs_body, rewriter)
        else:
            value = sum_of_products(reads, result.element_type, dims, 1, rewriter)
        rewriter.replace(op, [], [join_dims(value, groups, rewriter)])

    def _a_read(self, op: graph.MatmulOp, dims: Sequence[Dim]) -> Read:
        """The left operand, a vector or (batched) matrices, with its map; `transpose_a` swaps rows and k."""
        columns = 2 if op.panel else int(len(dims_of(op.b.type)) > 1)
        k = AffineExpr.dimension(len(dims))
        if len(dims_of(op.a.type)) == 1:
            return op.a, AffineMap(len(dims) + 1, 0, (k,))
        m = len(dims) - columns - 1
        rows = [AffineExpr.dimension(m), k]
        if op.transpose_a.value.data:
            rows.reverse()
        return op.a, AffineMap(len(dims) + 1, 0, (*batch_indices(op.a, dims, m), *rows))

    def _b_read(self, op: graph.MatmulOp, dims: Sequence[Dim]) -> Read:
        """The right operand, packed panels, a vector or (batched) matrices, with its map."""
        loops = len(dims) + 1
        k, n = AffineExpr.dimension(len(dims)), AffineExpr.dimension(len(dims) - 1)
        if op.panel:
            return op.b, AffineMap(loops, 0, (AffineExpr.dimension(len(dims) - 2), k, n))
        if len(dims_of(op.b.type)) == 1:
            return op.b, AffineMap(loops, 0, (k,))
        rows = int(len(dims_of(op.a.type)) > 1)
        columns = [n, k] if op.transpose_b.value.data else [k, n]
        return op.b, AffineMap(loops, 0, (*batch_indices(op.b, dims, len(dims) - 1 - rows), *columns))


class MatmulIntegerLowering(RewritePattern):
    """
    `graph.matmul_integer` → a `linalg.generic` that widens, subtracts zero points, multiplies and adds.

    Operands of packed 32-bit elements become loops [batch, m, panel, lane, k] around `arith.dot_bytes`.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulIntegerOp, rewriter: PatternRewriter) -> None:
        """Read both operands and their zero points in loops [batch, m, n, k] and sum in i32."""
        if op.is_packed:
            rewriter.replace(op, [], [_packed_product(op, rewriter)])
            return
        dims = dims_of(op.result.type)
        loops, batch = len(dims) + 1, len(dims) - 2
        m, n, k = (AffineExpr.dimension(batch + i) for i in range(3))
        a_map = AffineMap(loops, 0, (*batch_indices(op.a, dims, batch), m, k))
        b_map = AffineMap(loops, 0, (*batch_indices(op.b, dims, batch), k, n))
        reads: list[Read] = [(op.a, a_map), (op.b, b_map)]
        for zero_point, map, kept, summed in (
            (op.a_zero_point, a_map, m, len(a_map.results) - 1),
            (op.b_zero_point, b_map, n, len(b_map.results) - 2),
        ):
            if zero_point is not None:
                reads.append((zero_point, _zero_point_map(zero_point, map, kept, summed)))
        points = (op.a_zero_point, op.b_zero_point)
        elements = [None if p is None else element_of_value(p) for p in points]
        body = integer_body(element_of_value(op.a), element_of_value(op.b), *elements)
        rewriter.replace(op, [], [accumulated(reads, i32, dims, 1, body, rewriter)])


def _packed_product(op: graph.MatmulIntegerOp, rewriter: PatternRewriter) -> SSAValue:
    """
    The product of packed 32-bit elements: loops [rows, panel, lane, k] around a dot product of their parts.
    """
    rows, (panels, _, width) = dims_of(op.a.type)[:-1], dims_of(op.b.type)
    groups = [*([dim] for dim in rows), [panels, width]]
    dims = [dim for group in groups for dim in group]
    panel, lane, k = (AffineExpr.dimension(len(rows) + i) for i in range(3))
    reads = [
        (op.a, projection(len(dims) + 1, [*range(len(rows)), len(dims)])),
        (op.b, AffineMap(len(dims) + 1, 0, (panel, k, lane))),
    ]
    sums = accumulated(reads, i32, dims, 1, packed_body(op.parts.value.data), rewriter)
    return join_dims(sums, groups, rewriter)


def packed_body(parts: int) -> Body:
    """
    A body that adds the products of the parts of two 32-bit elements: four bytes, or two 16-bit integers.
    """
    op_type = DotBytesOp if parts == 4 else DotShortsOp
    return lambda scalars: op_type(*scalars).result


def pairs_body(scalars: Sequence[SSAValue]) -> SSAValue:
    """A body that adds the products of the two bf16 of packed elements."""
    return DotBfloatsOp(*scalars).result


def _zero_point_map(value: SSAValue, map: AffineMap, kept: AffineExpr, summed: int) -> AffineMap:
    """
    The index map of a zero point: a number, one for each row or column, or a tensor of extent 1 along k.

    Args: `map` is the operand's index map; `kept` is the loop over its rows or columns, `summed` the position
    of k in the operand.
    """
    rank = len(dims_of(value.type))
    if rank < len(map.results):
        one = rank == 1 and dims_of(value.type)[0] == 1
        indices: tuple[AffineExpr, ...] = (AffineExpr.constant(0) if one else kept,) * rank
    else:
        indices = tuple(AffineExpr.constant(0) if i == summed else e for i, e in enumerate(map.results))
    return AffineMap(map.num_dims, 0, indices)


def integer_body(
    a_element: Attribute, b_element: Attribute, a_point: Attribute | None, b_point: Attribute | None
) -> Body:
    """A body that adds, in i32, a product of two integers less their zero points, if they are given."""
    sums = Scalars(i32)
    elements = [e for e in (a_element, b_element, a_point, b_point) if e is not None]

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        a, b, *points = (Scalars(e).convert(s, sums) for e, s in zip(elements, scalars[:-1], strict=True))
        if a_point is not None:
            a = sums.subtract(a, points.pop(0))
        if b_point is not None:
            b = sums.subtract(b, points.pop(0))
        return sums.add(scalars[-1], sums.multiply(a, b))

    return body


def batch_indices(value: SSAValue, dims: Sequence[Dim], batch_rank: int) -> list[AffineExpr]:
    """
    Indices of an operand's batch dimensions: aligned at the right, 0 for those of extent 1 that broadcast.
    """
    own = dims_of(value.type)[:-2]
    first = batch_rank - len(own)
    return [
        AffineExpr.constant(0) if dim == 1 and dims[loop] != 1 else AffineExpr.dimension(loop)
        for loop, dim in enumerate(own, start=first)
    ]


class EinsumLowering(RewritePattern):
    """`graph.einsum` → a `linalg.generic` with a loop for each letter: result letters, then summed ones."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.EinsumOp, rewriter: PatternRewriter) -> None:
        """Map each term's letters to loops, multiply all operands and add the products."""
        extents = op.extents()
        order = [*op.letters, *(letter for letter in extents if letter not in op.letters)]
        reads: list[Read] = []
        for term, value in zip(op.terms, op.inputs, strict=True):
            indices = [
                # A broadcast dimension is read at 0; a loop of extent 1 everywhere still needs an operand.
                AffineExpr.constant(0)
                if dim == 1 and extents[letter] != 1
                else AffineExpr.dimension(order.index(letter))
                for letter, dim in zip(term, dims_of(value.type), strict=True)
            ]
            reads.append((value, AffineMap(len(order), 0, tuple(indices))))
        element, dims = element_of_value(op.inputs[0]), dims_of(op.result.type)
        scalars = Scalars(element)

        def add_product(s: Sequence[SSAValue]) -> SSAValue:
            return scalars.add(s[-1], reduce(scalars.multiply, s[:-1]))

        init = filled(tensor_type(accumulator(element), dims), 0, rewriter)
        write = init, projection(len(order), range(len(dims)))
        loops = [PARALLEL] * len(dims) + [REDUCTION] * (len(order) - len(dims))
        total = generic(reads, write, loops, add_product, rewriter)
        rewriter.replace(op, [], [rounded(total, element, rewriter)])


class BiasAddLowering(RewritePattern):
    """`graph.bias_add` → a `linalg.generic` that reads the bias along `axis`, and by lane if blocked."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BiasAddOp, rewriter: PatternRewriter) -> None:
        """Emit the elementwise sum; a bias of rank 2 is one of blocked channels [block, lane]."""
        type = tensor_of(op.result)
        rank, axis = len(dims_of(type)), op.axis.value.data
        scalars = Scalars(type.element_type)
        of_bias = [axis] if len(dims_of(op.b.type)) == 1 else [axis, rank - 1]
        reads = [(op.x, identity(rank)), (op.b, projection(rank, of_bias))]
        write = (empty(type, rewriter), identity(rank))
        result = generic(reads, write, [PARALLEL] * rank, lambda s: scalars.add(s[0], s[1]), rewriter)
        rewriter.replace(op, [], [result])
