"""
Ensembles of trees → the leaf of each row and tree, then a sum over trees of what the leaves say.

A row walks without branches: in every step it reads its node and takes one of two children by a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.scalars import Scalars, signless
from stepwell.lowering.graph_to_linalg.slices import Indices, index_of
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

# Steps of one walk that are written out; a deeper tree is walked in several.
_MAX_STEPS = 24


class TreeEnsembleLowering(RewritePattern):
    """
    `graph.tree_ensemble` → walks to the leaves [rows, trees], and a reduction over trees.

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
        rows, trees = dims_of(op.x.type)[0], dims_of(op.roots.type)[0]
        type = tensor_type(i32, [rows, trees])
        nodes, read, left = op.roots, projection(2, [1]), op.steps.value.data
        while left > 0 or nodes is op.roots:
            write = empty(type, rewriter), identity(2)
            walk = _walk(op, min(left, _MAX_STEPS))
            nodes, read = generic([(nodes, read)], write, [PARALLEL] * 2, walk, rewriter), identity(2)
            left -= _MAX_STEPS
        rewriter.replace(op, [], [_joined(op, nodes, rewriter)])


def _element(source: SSAValue, at: Sequence[SSAValue]) -> SSAValue:
    """An element as it is stored."""
    stored = signless(element_of_value(source))
    return tensor.ExtractOp.create(operands=[source, *at], result_types=[stored]).results[0]


def _walk(op: graph.TreeEnsembleOp, steps: int) -> Body:
    """From the node of a row and a tree, so many steps down."""
    numbers = Scalars(element_of_value(op.x))

    def walk(scalars: Sequence[SSAValue]) -> SSAValue:
        row, node = loop_index(0), scalars[0]
        sides = Indices.constant(1), Indices.constant(0)
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
    """What the leaves [rows, trees] say, joined over trees."""
    type = tensor_of(op.result)
    numbers = Scalars(type.element_type)
    start = {"sum": 0.0, "min": numbers.highest(), "max": numbers.lowest()}[op.aggregate.data]
    join = {"sum": numbers.add, "min": numbers.minimum, "max": numbers.maximum}[op.aggregate.data]

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        said = numbers.widen(_element(op.weights, [index_of(scalars[0]), loop_index(1)]))
        return join(scalars[1], said)

    write = filled(type, start, rewriter), projection(3, [0, 1])
    reads = [(leaves, projection(3, [0, 2]))]
    return generic(reads, write, [PARALLEL, PARALLEL, REDUCTION], body, rewriter)


PATTERNS: list[RewritePattern] = [TreeEnsembleLowering()]
