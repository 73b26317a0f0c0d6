"""Structure of a StableHLO program: constants, control flow, and operations that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A constant of the program.

    ```mlir
    %w = "stablehlo.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "stablehlo.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    An operation that the table does not have, or with a region that is not known.

    ```mlir
    %y = "stablehlo.operator"(%x) <{target = "rng_bit_generator"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.operator"


@irdl_op_definition
class ReturnOp(ForeignReturnOp):
    """
    The values that a region gives.

    ```mlir
    "stablehlo.return"(%y) : (tensor<4xf32>) -> ()
    ```
    """

    name = "stablehlo.return"


@irdl_op_definition
class WhileOp(ForeignWhileOp):
    """
    The second region again and again, as long as the first one returns true.

    ```mlir
    %y = "stablehlo.while"(%x) ({
    ^bb0(%a: tensor<f32>):
      %c = "stablehlo.is_finite"(%a) : (tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%b: tensor<f32>):
      %d = "stablehlo.add"(%b, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%d) : (tensor<f32>) -> ()
    }) : (tensor<f32>) -> tensor<f32>
    ```
    """

    name = "stablehlo.while"


@irdl_op_definition
class IfOp(ForeignChoiceOp):
    """
    The first region's values where the operand is true, else the second's.

    ```mlir
    %y = "stablehlo.if"(%c) ({
      "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.if"


@irdl_op_definition
class CaseOp(ForeignChoiceOp):
    """
    The values of the region whose number the operand is; of the last one for a number out of range.

    ```mlir
    %y = "stablehlo.case"(%i) ({
      "stablehlo.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<i32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.case"
