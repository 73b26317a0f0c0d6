"""Tensors made from dimensions, scalars and keys → `linalg.generic` on loop indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import INDICES
from stepwell.dialects.linalg_builder.support import PARALLEL, empty, extent, generic, identity, loop_index
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.meaning.philox import KEY_STEPS, MULTIPLIERS, PART_BITS, PART_MASK, ROUNDS

_LANES = Scalars(i64)
"""Each quarter of a block is computed in 64 bits: products of 32 bits need both halves."""


class IotaLowering(RewritePattern):
    """`graph.iota` → a `linalg.generic` of loop indices converted to the element type."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IotaOp, rewriter: PatternRewriter) -> None:
        """Emit the index of the loop along `axis` as a number."""
        type, axis = tensor_of(op.result), op.axis.value.data
        scalars = Scalars(type.element_type)

        def body(_: Sequence[SSAValue]) -> SSAValue:
            return scalars.from_index(loop_index(axis))

        rank = len(dims_of(type))
        write = (empty(type, rewriter), identity(rank))
        rewriter.replace(op, [], [generic([], write, [PARALLEL] * rank, body, rewriter)])


class ExtentsLowering(RewritePattern):
    """
    `graph.extents`, and `graph.shape_of` of known dimensions → a vector with one dimension in each element.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExtentsOp | graph.ShapeOfOp, rewriter: PatternRewriter) -> None:
        """Take the dimensions from the attribute or, for `shape_of`, from the operand's type."""
        if isinstance(op, graph.ExtentsOp):
            dims = op.dims.get()
        else:
            dims = dims_of(op.input.type)[op.start.value.data : op.end.value.data]
        rewriter.replace(op, [], [_numbers(dims, rewriter)])


def _numbers(dims: Sequence[Dim], rewriter: PatternRewriter) -> SSAValue:
    """A vector i64 of the values of dimensions: element i is the i-th, chosen by a chain of selects."""
    sizes = [extent(dim, rewriter) for dim in dims]

    def body(_: Sequence[SSAValue]) -> SSAValue:
        chosen = INDICES.constant(0)
        for i, size in enumerate(sizes):
            here = arith.CmpiOp(loop_index(0), INDICES.constant(i), "eq").result
            chosen = arith.SelectOp(here, size, chosen).result
        return Scalars(i64).from_index(chosen)

    write = (empty(tensor_type(i64, [len(dims)]), rewriter), identity(1))
    return generic([], write, [PARALLEL], body, rewriter)


class RandomBitsLowering(RewritePattern):
    """
    `graph.random_bits` → a `linalg.generic` whose body is Philox4x32-10 at the loop's index.

    ```mlir
    %b = graph.random_bits %key count <[1000]> : tensor<2xi64> -> tensor<1000xui64>
    // ->
    %b = linalg.generic … ins(%key, %key : tensor<2xi64>, tensor<2xi64>) outs(%0 : tensor<1000xi64>) {
    ^bb0(%seed: i64, %stream: i64, %old: i64):
      … ten rounds: two products, two additions to the key, four exclusive ors
    }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RandomBitsOp, rewriter: PatternRewriter) -> None:
        """Read the key's two numbers at each index, and emit the rounds."""
        reads = [(op.key, AffineMap(1, 0, (AffineExpr.constant(i),))) for i in range(2)]
        write = (empty(tensor_of(op.result), rewriter), identity(1))
        rewriter.replace(op, [], [generic(reads, write, [PARALLEL], _bits, rewriter)])


def _bits(scalars: Sequence[SSAValue]) -> SSAValue:
    """The first half of the block of the loop's index."""
    seed, stream, _ = scalars
    index = _LANES.from_index(loop_index(0))
    quarters, key = (*_halves(index), *_halves(stream)), _halves(seed)
    for number in range(ROUNDS):
        if number:
            key = [_low(_LANES.add(key[i], _LANES.constant(step))) for i, step in enumerate(KEY_STEPS)]
        quarters = _round(quarters, key)
    above = arith.ShLIOp(quarters[1], _LANES.constant(PART_BITS)).result
    return arith.OrIOp(quarters[0], above).result


def _round(quarters: Sequence[SSAValue], key: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
    """The quarters after a round: products of the even ones, mixed with the key and the odd ones."""
    first, second = (
        _LANES.multiply(quarters[2 * i], _LANES.constant(multiplier))
        for i, multiplier in enumerate(MULTIPLIERS)
    )
    return (
        _mixed(_high(second), quarters[1], key[0]),
        _low(second),
        _mixed(_high(first), quarters[3], key[1]),
        _low(first),
    )


def _halves(number: SSAValue) -> list[SSAValue]:
    return [_low(number), _high(number)]


def _low(number: SSAValue) -> SSAValue:
    return arith.AndIOp(number, _LANES.constant(PART_MASK)).result


def _high(number: SSAValue) -> SSAValue:
    return arith.ShRUIOp(number, _LANES.constant(PART_BITS)).result


def _mixed(a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
    return arith.XOrIOp(arith.XOrIOp(a, b).result, c).result
