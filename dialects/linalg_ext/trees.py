"""Tree ensembles on level 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def

from stepwell.dialects.costs.kernels import TREES
from stepwell.dialects.graph.trees import MOST_LEAVES, TreeProperties
from stepwell.dialects.graph.trees import TreeEnsembleOp as GraphTreeEnsembleOp
from stepwell.dialects.linalg_ext.forms import Form, FormsOp, Size

MOST_WALKS, MOST_BLOCK, MOST_LANES = 64, 1 << 16, 256
"""The most walks in lock step, rows of a block, and rows in lanes: code is written out for each."""


@irdl_op_definition
class TreeEnsembleOp(TreeProperties, FormsOp):
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
    GRAPH_OP: ClassVar = GraphTreeEnsembleOp

    x = operand_def(TensorType)
    nodes = operand_def(TensorType)
    trees = operand_def(TensorType)
    weights = operand_def(TensorType)
    init = operand_def(TensorType)
    bit_vectors = var_operand_def(TensorType)
    result = result_def(TensorType)

    assembly_format = (
        "$x `,` $nodes `,` $trees `,` $weights `into` $init (`bits` $bit_vectors^)? `depth` $depth"
        " `leaves` $leaves `largest` $largest `aggregate` $aggregate (`flips` $flips^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

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
