"""Tree ensembles on level 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
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

from stepwell.dialects.costs.kernels import TREES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.trees import MOST_LEAVES, check_tables
from stepwell.dialects.graph.trees import TreeEnsembleOp as GraphTreeEnsembleOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size
from stepwell.dialects.tensor_ir.structured import tensor_shape

MOST_WALKS, MOST_BLOCK, MOST_LANES = 64, 1 << 16, 256
"""The most walks in lock step, rows of a block, and rows in lanes: code is written out for each."""


@irdl_op_definition
class TreeEnsembleOp(FormsOp):
    """
    `graph.tree_ensemble` into a tensor, all of whose elements it writes.

    ```mlir
    %y = linalg_ext.tree_ensemble %x, %nodes, %trees, %weights into %init bits %cuts, %masks
      depth 3 leaves 8 largest 0 aggregate "sum" {sched.schedule = #sched.schedule<form = "bits">}
      : (tensor<64x20xf32>, tensor<90x4xi32>, tensor<10x5xi32>, tensor<50x3xf32>, tensor<64x3xf32>,
         tensor<40x2xi32>, tensor<40xi32>) -> tensor<64x3xf32>
    ```
    Its schedule has a `form`:
    - `walk`: nodes are followed, of some rows or of some trees at a time, so that their loads overlap.
    - `bits`: all comparisons of a tree are made for some rows in lanes, and clear bits of leaves.

    Constraints:
      (C1) the tables are those of `graph.tree_ensemble`.
      (C2) the result, of the type of `init`, is [rows, targets] of the type of the weights.
    """

    name = "linalg_ext.tree_ensemble"

    T: ClassVar = VarConstraint("T", AnyAttr())

    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    trees = operand_def(TensorType)
    weights = operand_def(TensorType)
    init = operand_def(T)
    bit_vectors = var_operand_def(TensorType)
    result = result_def(T)
    depth = prop_def(IntegerAttr.constr(i64))
    leaves = prop_def(IntegerAttr.constr(i64))
    largest = prop_def(IntegerAttr.constr(i64))
    aggregate = prop_def(StringAttr)
    flips = opt_prop_def(UnitAttr)

    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $nodes `,` $trees `,` $weights `into` $init (`bits` $bit_vectors^)? `depth` $depth"
        " `leaves` $leaves `largest` $largest `aggregate` $aggregate (`flips` $flips^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(self, op: GraphTreeEnsembleOp, init: SSAValue):
        """The op that writes what `op` computes into `init`."""
        super().__init__(
            operands=[op.x, op.nodes, op.trees, op.weights, init, op.bit_vectors],
            result_types=[init.type],
            properties=dict[str, Attribute | None](op.properties),
        )

    def verify_(self) -> None:
        check_tables(self.x, (self.nodes, self.trees, self.weights, *self.bit_vectors))  # (C1)
        shape = [tensor_shape(self.x)[0], tensor_shape(self.weights)[1]]
        wanted = TensorType(element_of_value(self.weights), shape)
        if self.result.type != wanted:  # (C2)
            raise VerifyException(f"the result must be {wanted}, found {self.result.type}")

    def forms(self) -> Mapping[str, Form]:
        walks = Size(TREES.walks, MOST_WALKS)
        walk = {"rows": walks, "block": Size(TREES.block_rows, MOST_BLOCK), "trees": walks}
        bits = {"rows": Size(32, MOST_LANES), "least": Size(1, MOST_LANES), "trees": walks}
        return {
            "walk": Form(walk, misfit=_partial_blocks),
            "bits": Form(bits, self._without_bits(), _more_than_rows),
        }

    def _without_bits(self) -> str | None:
        """The reason why the trees have no bit vectors; None if they have."""
        if self.bit_vectors:
            return None
        if (leaves := self.leaves.value.data) > MOST_LEAVES:
            tree = self.largest.value.data
            return f"trees of form bits have at most {MOST_LEAVES} leaves, tree {tree} has {leaves}"
        return "trees of form bits need a known number of features"


def _partial_blocks(sizes: Mapping[str, int]) -> str | None:
    block, rows = sizes["block"], sizes["rows"]
    return f"block must be a multiple of rows, found {block} and {rows}" if block % rows else None


def _more_than_rows(sizes: Mapping[str, int]) -> str | None:
    least, rows = sizes["least"], sizes["rows"]
    return f"least must not be more than rows, found {least} and {rows}" if least > rows else None
