"""The `linalg_ext` dialect: ops of level 2 beyond `linalg`, which `expand-forms` writes as loops."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
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

from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.trees import TreeEnsembleOp as GraphTreeEnsembleOp
from stepwell.dialects.graph.trees import check_tables
from stepwell.dialects.tensor_ir.structured import tensor_shape


@irdl_op_definition
class TreeEnsembleOp(IRDLOperation):
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


LinalgExt = Dialect("linalg_ext", [TreeEnsembleOp], [])
