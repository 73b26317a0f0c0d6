"""Structure of a TFLite model: its constants, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

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
