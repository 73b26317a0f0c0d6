"""Structure of a model of Paddle: its constants, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A constant tensor of the model.

    ```mlir
    %w = "paddle.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "paddle.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    An operator that the table does not have.

    ```mlir
    %y = "paddle.operator"(%x) <{target = "yolo_box"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "paddle.operator"
