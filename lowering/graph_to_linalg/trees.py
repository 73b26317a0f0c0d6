"""
Tree ensembles → the leaf of each row in each tree, then a reduction of the leaves' weights over trees.

A row descends a tree without branches: every step reads the node's feature and threshold, and a comparison
selects one of two children.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.costs.kernels import SEARCHES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import INDICES, index_of
from stepwell.lowering.graph_to_linalg.support import (
    PARALLEL,
    REDUCTION,
    Body,
    empty,
    filled,
    generic,
    identity,
    loop_index,
    projection,
)


class TreeEnsembleLowering(RewritePattern):
    """
    `graph.tree_ensemble` → the leaves [rows, trees] by descent, and a reduction over trees.

    ```mlir
    %leaf = linalg.generic … {                       // loops: row, tree
      %f = tensor.extract %features[%node]
      %v = tensor.extract %x[%row, %f] …
      %next = tensor.extract %children[%node, %below]
      … }
    %y = linalg.generic … {                          // loops: row, target, tree
      %w = tensor.extract %weights[%leaf, %target] … }
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TreeEnsembleOp, rewriter: PatternRewriter) -> None:
        """Emit one `linalg.generic` for each `SEARCHES.tree_steps` levels, then the reduction."""
        rows, trees = dims_of(op.x.type)[0], dims_of(op.roots.type)[0]
        type = tensor_type(i32, [rows, trees])
        nodes, read, left = op.roots, projection(2, [1]), op.steps.value.data
        while left > 0 or nodes is op.roots:
            write = empty(type, rewriter), identity(2)
            walk = _walk(op, min(left, SEARCHES.tree_steps))
            nodes, read = generic([(nodes, read)], write, [PARALLEL] * 2, walk, rewriter), identity(2)
            left -= SEARCHES.tree_steps
        rewriter.replace(op, [], [_joined(op, nodes, rewriter)])


def _element(source: SSAValue, at: Sequence[SSAValue]) -> SSAValue:
    """An element of a tensor in its storage type."""
    stored = signless(element_of_value(source))
    return tensor.ExtractOp.create(operands=[source, *at], result_types=[stored]).results[0]


def _walk(op: graph.TreeEnsembleOp, steps: int) -> Body:
    """A body that descends `steps` levels in a tree from the current node of a row."""
    numbers = Scalars(element_of_value(op.x))

    def walk(scalars: Sequence[SSAValue]) -> SSAValue:
        row, node = loop_index(0), scalars[0]
        sides = INDICES.constant(1), INDICES.constant(0)
        for _ in range(steps):
            at = index_of(node)
            value = numbers.widen(_element(op.x, [row, index_of(_element(op.features, [at]))]))
            below = numbers.compare("le", value, numbers.widen(_element(op.thresholds, [at])))
            strays = arith.AndIOp(numbers.is_nan(value), _element(op.missing, [at])).result
            side = arith.SelectOp(arith.OrIOp(below, strays).result, *sides).result
            node = _element(op.children, [at, side])
        return node

    return walk


def _joined(op: graph.TreeEnsembleOp, leaves: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """The weights of the leaves [rows, trees], aggregated over trees by sum, minimum or maximum."""
    type = tensor_of(op.result)
    numbers = Scalars(type.element_type)
    start = {"sum": 0.0, "min": numbers.highest(), "max": numbers.lowest()}[op.aggregate.data]
    join = {"sum": numbers.add, "min": numbers.minimum, "max": numbers.maximum}[op.aggregate.data]

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        weight = numbers.widen(_element(op.weights, [index_of(scalars[0]), loop_index(1)]))
        return join(scalars[1], weight)

    write = filled(type, start, rewriter), projection(3, [0, 1])
    reads = [(leaves, projection(3, [0, 2]))]
    return generic(reads, write, [PARALLEL, PARALLEL, REDUCTION], body, rewriter)
