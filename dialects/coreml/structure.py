"""Structure of a model of Core ML: its constants, control flow, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.foreign.control import ForeignChoiceOp, ForeignReturnOp, ForeignWhileOp
from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A constant tensor of the model.

    ```mlir
    %w = "coreml.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "coreml.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    An operator that the table does not have.

    ```mlir
    %y = "coreml.operator"(%x) <{target = "crop_resize"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "coreml.operator"


@irdl_op_definition
class ReturnOp(ForeignReturnOp):
    """
    The values that a region gives.

    ```mlir
    "coreml.return"(%y) : (tensor<4xf32>) -> ()
    ```
    """

    name = "coreml.return"


@irdl_op_definition
class IfOp(ForeignChoiceOp):
    """
    The first region's values where the operand, of one element, is true, else the second's.

    ```mlir
    %y = "coreml.if"(%c) ({
      "coreml.return"(%a) : (tensor<4xf32>) -> ()
    }, {
      "coreml.return"(%b) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    ```
    """

    name = "coreml.if"


@irdl_op_definition
class WhileOp(ForeignWhileOp):
    """
    The second region again and again, as long as the first one returns true.

    ```mlir
    %y = "coreml.while"(%x) ({
    ^bb0(%a: tensor<i32>):
      %c = "coreml.less"(%a, %n) : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "coreml.return"(%c) : (tensor<i1>) -> ()
    }, {
    ^bb0(%b: tensor<i32>):
      %d = "coreml.add"(%b, %n) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "coreml.return"(%d) : (tensor<i32>) -> ()
    }) : (tensor<i32>) -> tensor<i32>
    ```
    """

    name = "coreml.while"
