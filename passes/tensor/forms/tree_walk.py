"""Trees by walks: from node to node, for several rows of one tree or several trees of one row at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.passes.tensor.forms.tree_loops import (
    DEPTH,
    FEATURE,
    LEAF,
    NODE,
    PAIR,
    ROOT,
    THRESHOLD,
    TreeLoops,
    element,
    index_at,
)


def trees_by_walks(op: TreeEnsembleOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    Blocks of rows, for each tree groups of rows in lock step; then the rows left over, by groups of trees.

    A tree stays in the first cache for all rows of a block.
    """
    group, block = sizes["rows"], sizes["block"]
    trees = TreeLoops.of(op, emit)
    whole = emit.rounded_down(trees.rows, group)

    def of_block(emit: IRBuilder, first: SSAValue, result: SSAValue) -> SSAValue:
        end = emit.least(emit.plus(first, block), whole)

        def of_tree(emit: IRBuilder, tree: SSAValue, result: SSAValue) -> SSAValue:
            root, depth = (trees.of_tree(emit, tree, column) for column in (ROOT, DEPTH))

            def of_rows(emit: IRBuilder, row: SSAValue, result: SSAValue) -> SSAValue:
                rows = [emit.materialize(emit.plus(row, i)) for i in range(group)]
                for row, leaf in zip(rows, walk(emit, trees, rows, [root] * group, depth), strict=True):
                    result = trees.join(emit, result, row, [leaf])
                return result

            return emit.fold(first, end, group, result, of_rows)

        return emit.fold(0, trees.count, 1, result, of_tree)

    result = trees.start(emit)
    if whole != 0:
        result = emit.fold(0, whole, block, result, of_block, parallel=True)
    return rows_by_walks(emit, trees, whole, result, sizes["trees"])


def rows_by_walks(emit: IRBuilder, trees: TreeLoops, first: Index, result: SSAValue, group: int) -> SSAValue:
    """The result with all rows from `first` on, one at a time by groups of trees."""
    if first == trees.rows:
        return result

    def of_row(emit: IRBuilder, row: SSAValue, result: SSAValue) -> SSAValue:
        def of_trees(emit: IRBuilder, tree: Index, result: SSAValue, count: int) -> SSAValue:
            numbers = [emit.plus(tree, i) for i in range(count)]
            roots = [trees.of_tree(emit, number, ROOT) for number in numbers]
            depths = [trees.of_tree(emit, number, DEPTH) for number in numbers]
            depth = emit.materialize(reduce(emit.most, depths))
            return trees.join(emit, result, row, walk(emit, trees, [row] * count, roots, depth))

        whole = trees.count // group * group
        if whole:
            result = emit.fold(0, whole, group, result, lambda emit, tree, y: of_trees(emit, tree, y, group))
        return of_trees(emit, whole, result, trees.count - whole) if whole < trees.count else result

    return emit.fold(first, trees.rows, 1, result, of_row, parallel=True)


def walk(
    emit: IRBuilder, trees: TreeLoops, rows: Sequence[SSAValue], roots: Sequence[SSAValue], depth: SSAValue
) -> list[SSAValue]:
    """The leaves to which pairs of a row and a root lead after `depth` steps, in lock step."""

    def step(emit: IRBuilder, _: SSAValue, nodes: Sequence[SSAValue]) -> list[SSAValue]:
        return [_next(emit, trees, row, node) for row, node in zip(rows, nodes, strict=True)]

    nodes = emit.loop(0, depth, 1, roots, step)
    return [index_at(emit, trees.nodes, emit.plus(node, LEAF)) for node in nodes]


def _next(emit: IRBuilder, trees: TreeLoops, row: SSAValue, node: SSAValue) -> SSAValue:
    """The node after a node, for a row."""
    feature = element(emit, trees.nodes, emit.plus(node, FEATURE))
    if trees.op.flips is None:
        number = element(emit, trees.op.x, row, emit.value(arith.IndexCastOp(feature, INDEX)))
    else:
        most = (1 << (trees.bits.width.data - 1)) - 1
        sign = emit.value(arith.AndIOp(feature, emit.number(~most, trees.bits)))
        column = emit.value(arith.AndIOp(feature, emit.number(most, trees.bits)))
        number = element(emit, trees.op.x, row, emit.value(arith.IndexCastOp(column, INDEX)))
        flipped = arith.XOrIOp(emit.value(arith.BitcastOp(number, trees.bits)), sign)
        number = emit.value(arith.BitcastOp(emit.value(flipped), trees.number))
    threshold = element(emit, trees.nodes, emit.plus(node, THRESHOLD))
    holds = emit.compare("ole", number, emit.value(arith.BitcastOp(threshold, trees.number)))
    offset = arith.SelectOp(holds, emit.materialize(NODE), emit.materialize(0))
    return emit.materialize(emit.plus(index_at(emit, trees.nodes, emit.plus(node, PAIR)), emit.value(offset)))
