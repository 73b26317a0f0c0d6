"""Ensembles of decision trees, compiled: all trees in one table of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, i1, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.relations import element_of_value, is_float
from stepwell.dialects.types import dims_of, tensor_type

AGGREGATES = ("sum", "min", "max")


@irdl_op_definition
class TreeEnsembleOp(GraphOp):
    """
    The aggregate, over all trees, of the weights of the leaves that each row of `x` reaches.

    ```mlir
    %y = graph.tree_ensemble %x, %features, %thresholds, %children, %missing, %roots, %weights
      steps 3 aggregate "sum"
      : (tensor<64x20xf32>, tensor<90xi32>, tensor<90xf32>, tensor<90x2xi32>, tensor<90xi1>, tensor<10xi32>,
         tensor<90x3xf32>) -> tensor<64x3xf32>
    ```
    From each of `roots` a row takes `steps` steps: at node i to `children[i, 1]` if its number at
    `features[i]` is at most `thresholds[i]`, or NaN where `missing[i]`; else to `children[i, 0]`. A leaf is
    its own child.
    Then the rows of `weights` at the leaves are added up, or their least or greatest taken. Base values and
    transforms that follow element by element join its kernel, as they do for a matrix product.
    Constraints:
      (C1) `x` is [rows, features] of floats, and `thresholds` are of its type.
      (C2) the tables are of one length: features i32 [M], thresholds [M], children i32 [M, 2], missing i1
           [M], weights floats [M, targets]; `roots` is i32 [trees].
      (C3) `aggregate` is sum, min or max; `steps` is not negative.
      (C4) `result = [rows, targets]` of the type of `weights`.
    Source: ONNX TreeEnsemble, ai.onnx.ml 5; all its modes come down to `<=`.
    """

    name = "graph.tree_ensemble"
    KIND: ClassVar[Kind] = Kind.CONTRACTION

    x = operand_def(TensorType)
    features = operand_def(TensorType)
    thresholds = operand_def(TensorType)
    children = operand_def(TensorType)
    missing = operand_def(TensorType)
    roots = operand_def(TensorType)
    weights = operand_def(TensorType)
    result = result_def(TensorType)
    steps = prop_def(IntegerAttr.constr(i64))
    aggregate = prop_def(StringAttr)

    traits = traits_def(Pure())
    assembly_format = (
        "$x `,` $features `,` $thresholds `,` $children `,` $missing `,` $roots `,` $weights"
        " `steps` $steps `aggregate` $aggregate attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, x: SSAValue, tables: Sequence[SSAValue], *, steps: int, aggregate: str = "sum"):
        """Args: `tables` are features, thresholds, children, missing, roots and weights."""
        self.initialize([x, *tables], {"steps": steps, "aggregate": aggregate})

    def check(self) -> None:
        element = element_of_value(self.x)
        if not is_float(element) or len(dims_of(self.x.type)) != 2:  # (C1)
            raise VerifyException(f"x must be [rows, features] of floats, found {self.x.type}")
        nodes = dims_of(self.features.type)[0]
        tables: Sequence[tuple[str, SSAValue, Attribute, int]] = (
            ("features", self.features, i32, 1),
            ("thresholds", self.thresholds, element, 1),
            ("children", self.children, i32, 2),
            ("missing", self.missing, i1, 1),
            ("weights", self.weights, element_of_value(self.weights), 2),
        )
        for name, value, type, rank in tables:  # (C2)
            dims = dims_of(value.type)
            if len(dims) != rank or dims[0] != nodes or element_of_value(value) != type:
                raise VerifyException(f"{name} must have {nodes} rows of {type}, found {value.type}")
        if dims_of(self.children.type)[1] != 2:
            raise VerifyException(f"children must come in pairs, found {self.children.type}")
        if not is_float(element_of_value(self.weights)) or element_of_value(self.roots) != i32:
            raise VerifyException("weights must be floats, and roots i32")
        if self.aggregate.data not in AGGREGATES or self.steps.value.data < 0:  # (C3)
            raise VerifyException(f"aggregate must be one of {', '.join(AGGREGATES)}, steps not negative")

    def infer(self) -> Sequence[Attribute]:  # (C4)
        targets = dims_of(self.weights.type)[1]
        return [tensor_type(element_of_value(self.weights), [dims_of(self.x.type)[0], targets])]
