"""Ensembles of decision trees, compiled: all trees in one table of nodes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, f32, f64, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import element_of_value, is_float
from stepwell.dialects.types import dims_of, tensor_type

AGGREGATES = ("sum", "min", "max")
MOST_LEAVES = 64
"""The most leaves of a tree whose leaves are bits of an integer."""


class TreeProperties(IRDLOperation, ABC):
    """The properties of tree ensembles, of levels 1 and 2."""

    depth = prop_def(IntegerAttr.constr(i64))
    leaves = prop_def(IntegerAttr.constr(i64))
    largest = prop_def(IntegerAttr.constr(i64))
    aggregate = prop_def(StringAttr)
    flips = opt_prop_def(UnitAttr)


@irdl_op_definition
class TreeEnsembleOp(TreeProperties, GraphOp):
    """
    The aggregate, over all trees, of the weights of the leaves that each row of `x` reaches.

    ```mlir
    %y = graph.tree_ensemble %x, %nodes, %trees, %weights, %cuts, %masks
      depth 3 leaves 8 largest 0 aggregate "sum"
      : (tensor<64x20xf32>, tensor<90x4xi32>, tensor<10x5xi32>, tensor<50x3xf32>, tensor<40x2xi32>,
         tensor<40xi32>) -> tensor<64x3xf32>
    ```
    A row of `nodes` is four integers as wide as the elements of `x`: the bits of a threshold, a feature, the
    position (4 times the row) of two neighbouring nodes, and a leaf. From a node a row of `x` goes to the
    second of these two if its number at `feature` is at most the threshold, else, or if it is NaN, to the
    first; where the feature has its sign bit set (only with `flips`), the number changes its sign before.
    A leaf is its own first node, and its threshold is NaN.

    A row of `trees` is the position of a root, the depth, the first and the end of the tree's `cuts`, and its
    first leaf. After `depth` steps, the rows of `weights` at the leaves are added up in the order of the
    trees, or their least or greatest taken. Base values and transforms that follow element by element join
    its kernel, as they do for a matrix product.

    `cuts` and `masks` describe the same trees by bit vectors, for trees of at most 64 leaves: a cut is a
    threshold and a feature (those with flipped sign come after all features of `x`), and where the number is
    not at most the threshold, the mask of the cut clears the leaves that are no longer possible in the bit
    vector of its tree; the highest bit that is left is the leaf, counted from the tree's first one.
    Constraints:
      (C1) `x` is [rows, features] of f32 or f64; `weights` are [leaves, targets] of floats.
      (C2) nodes are [M, 4], cuts [I, 2], of integers as wide as elements of `x`; trees are i32 [trees, 5],
           masks i32 or i64 [I].
      (C3) `aggregate` is sum, min or max; `depth`, the most steps to a leaf, `leaves`, the most of a tree,
           and `largest`, the tree that has as many, are not negative.
      (C4) `result = [rows, targets]` of the type of `weights`.
    Source: ONNX TreeEnsemble, ai.onnx.ml 5; all its modes come down to `<=`. Bit vectors: QuickScorer
    (Lucchese et al., SIGIR 2015), with rows in lanes as in RapidScorer (Ye et al., KDD 2018).
    """

    name = "graph.tree_ensemble"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(AnyTensor)
    nodes = operand_def(AnyTensor)
    trees = operand_def(AnyTensor)
    weights = operand_def(AnyTensor)
    bit_vectors = var_operand_def(AnyTensor)
    """Cuts and masks, or nothing."""
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $nodes `,` $trees `,` $weights (`,` $bit_vectors^)? `depth` $depth `leaves` $leaves"
        " `largest` $largest `aggregate` $aggregate (`flips` $flips^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x: SSAValue,
        tables: Sequence[SSAValue],
        *,
        depth: int,
        leaves: int,
        largest: int = 0,
        aggregate: str = "sum",
        flips: bool = False,
    ):
        """Args: `tables` are nodes, trees and weights, then cuts and masks if there are any."""
        properties = {"depth": depth, "leaves": leaves, "largest": largest, "aggregate": aggregate}
        self.initialize(
            [x, *tables[:3], tables[3:]], properties | {"flips": UnitAttr()} if flips else properties
        )

    def check(self) -> None:
        tables = [self.nodes, self.trees, self.weights, *self.bit_vectors]
        element = element_of_value(self.x)
        if element not in (f32, f64) or len(dims_of(self.x.type)) != 2:  # (C1)
            raise VerifyException(f"x must be [rows, features] of f32 or f64, found {self.x.type}")
        if len(tables) not in (3, 5):
            raise VerifyException(f"trees have 3 tables, or 5 with bit vectors, found {len(tables)}")
        number = i32 if element == f32 else i64
        columns = {"nodes": (number, 4), "trees": (i32, 5), "weights": (None, None), "cuts": (number, 2)}
        for (name, (type, width)), table in zip(columns.items(), tables, strict=False):  # (C2)
            dims, found = dims_of(table.type), element_of_value(table)
            fits = found == type if type is not None else is_float(found)
            if len(dims) != 2 or not fits or (width is not None and dims[1] != width):
                wanted = f"{width} columns of {type}" if type is not None else "columns of floats"
                raise VerifyException(f"{name} must have {wanted}, found {table.type}")
        if len(tables) == 5:
            cuts, masks = (dims_of(table.type) for table in tables[3:])
            if len(masks) != 1 or masks[0] != cuts[0] or element_of_value(tables[4]) not in (i32, i64):
                raise VerifyException(
                    f"masks must be {cuts[0]} numbers of i32 or i64, found {tables[4].type}"
                )
        numbers = (self.depth, self.leaves, self.largest)
        if self.aggregate.data not in AGGREGATES or any(n.value.data < 0 for n in numbers):  # (C3)
            raise VerifyException(
                f"aggregate must be one of {', '.join(AGGREGATES)}, depth, leaves and largest not negative"
            )

    def infer(self) -> Sequence[Attribute]:  # (C4)
        targets = dims_of(self.weights.type)[1]
        return [tensor_type(element_of_value(self.weights), [dims_of(self.x.type)[0], targets])]
