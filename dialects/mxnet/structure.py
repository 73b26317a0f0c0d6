"""Structure of a model of MXNet: its constants, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.foreign.structure import ForeignOperatorOp, ForeignWeightOp


@irdl_op_definition
class WeightOp(ForeignWeightOp):
    """
    A constant tensor of the model.

    ```mlir
    %w = "mxnet.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    ```
    """

    name = "mxnet.weight"


@irdl_op_definition
class OperatorOp(ForeignOperatorOp):
    """
    An operator that the table does not have.

    ```mlir
    %y = "mxnet.operator"(%x) <{target = "MultiBoxPrior"}> : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "mxnet.operator"
