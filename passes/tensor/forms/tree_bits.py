"""Trees by bit vectors: all comparisons of a tree for rows in lanes, each of which clears leaves."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from stepwell.dialects.arith import SelectOp
from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.passes.tensor.forms.tree_loops import (
    END_OF_CUTS,
    FEATURE,
    FIRST_CUT,
    FIRST_LEAF,
    THRESHOLD,
    TreeLoops,
    element,
    index_at,
    inserted,
)
from stepwell.passes.tensor.forms.tree_walk import rows_by_walks


def trees_by_bits(op: TreeEnsembleOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """Blocks of rows in lanes; a last one of fewer than `least` rows is walked."""
    block, least = sizes["rows"], sizes["least"]
    trees = TreeLoops.of(op, emit)
    padded = emit.times(emit.quotient(emit.plus(trees.rows, block - least), block), block)

    def of_block(emit: IRBuilder, first: SSAValue, result: SSAValue) -> SSAValue:
        count = emit.least(emit.minus(trees.rows, first), block)
        columns = _columns(emit, trees, first, count, block)

        def of_tree(emit: IRBuilder, tree: SSAValue, result: SSAValue) -> SSAValue:
            left = _remaining_leaves(emit, trees, tree, columns, block)
            base = trees.of_tree(emit, tree, FIRST_LEAF)

            def of_row(emit: IRBuilder, i: SSAValue, result: SSAValue) -> SSAValue:
                zeros = emit.value(math.CountLeadingZerosOp(element(emit, left, i)))
                leaf = emit.plus(emit.value(arith.IndexCastOp(zeros, INDEX)), base)
                row = emit.materialize(emit.plus(first, i))
                return trees.join(emit, result, row, [emit.materialize(leaf)])

            return emit.fold(0, count, 1, result, of_row)

        return emit.fold(0, trees.count, 1, result, of_tree)

    result = trees.start(emit)
    if padded != 0:
        result = emit.fold(0, padded, block, result, of_block, parallel=True)
    return rows_by_walks(emit, trees, emit.least(padded, trees.rows), result, sizes["trees"])


def _columns(emit: IRBuilder, trees: TreeLoops, first: SSAValue, count: Index, block: int) -> SSAValue:
    """Features of a block of rows as rows [features, block]; then, if needed, those with the other sign."""
    features, flips = trees.columns, trees.op.flips is not None
    columns = emit.empty(trees.number, [emit.times(features, 2) if flips else features, block])

    def of_row(emit: IRBuilder, i: SSAValue, columns: SSAValue) -> SSAValue:
        row = emit.materialize(emit.plus(first, i))

        def of_feature(emit: IRBuilder, f: SSAValue, columns: SSAValue) -> SSAValue:
            number = element(emit, trees.op.x, row, f)
            made = inserted(emit, number, columns, f, i)
            if flips:
                there = emit.materialize(emit.plus(f, features))
                made = inserted(emit, emit.value(arith.NegfOp(number)), made, there, i)
            return made

        return emit.fold(0, features, 1, columns, of_feature)

    return emit.fold(0, count, 1, columns, of_row)


def _remaining_leaves(
    emit: IRBuilder, trees: TreeLoops, tree: SSAValue, columns: SSAValue, block: int
) -> SSAValue:
    """For each row of a block the leaves of a tree that no cut has cleared: the highest bit is its leaf."""
    cuts, masks = trees.op.bit_vectors
    bits = tensor_element(masks)

    def of_cut(emit: IRBuilder, cut: SSAValue, left: SSAValue) -> SSAValue:
        at = [index_at(emit, cuts, cut, FEATURE), emit.materialize(0)]
        numbers = read(emit, columns, at, vector_type(trees.number, (block,)), (1,))
        bits = arith.BitcastOp(element(emit, cuts, cut, THRESHOLD), trees.number)
        above = emit.compare("ugt", numbers, broadcast(emit, emit.value(bits), block))
        cleared = emit.value(arith.AndIOp(left, broadcast(emit, element(emit, masks, cut), block)))
        return emit.value(SelectOp(above, cleared, left))

    first, end = (trees.of_tree(emit, tree, column) for column in (FIRST_CUT, END_OF_CUTS))
    left = emit.fold(first, end, 1, emit.number(-1, vector_type(bits, (block,))), of_cut)
    return write(emit, left, emit.empty(bits, [block]), [emit.materialize(0)], (0,))
