"""Structure of a TFLite model: constants, control flow, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A tensor of the model that has its elements in the file.

    ```mlir
    %w = "tflite.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "tflite.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    A custom operator, or a builtin one that the table does not have.

    ```mlir
    %y = "tflite.operator"(%x) <{target = "FlexErfinv"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "tflite.operator"


@irdl_op_definition
class ReturnOp(ForeignReturnOp):
    """
    The values that a region gives.

    ```mlir
    "tflite.return"(%y) : (tensor<4xf32>) -> ()
    ```
    """

    name = "tflite.return"


@irdl_op_definition
class IfOp(ForeignChoiceOp):
    """
    The first region's values where the operand, of one element, is true, else the second's.

    ```mlir
    %y = "tflite.if"(%c) ({
      "tflite.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "tflite.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<1xi1>) -> tensor<4xf32>
    ```
    """

    name = "tflite.if"


@irdl_op_definition
class WhileOp(ForeignWhileOp):
    """
    The second region again and again, as long as the first one returns true.

    ```mlir
    %y = "tflite.while"(%x) ({
    ^bb0(%a: tensor<i32>):
      %c = "tflite.less"(%a, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "tflite.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%b: tensor<i32>):
      %d = "tflite.add"(%b, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "tflite.return"(%d) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    ```
    """

    name = "tflite.while"
