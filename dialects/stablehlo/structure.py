"""Structure of a StableHLO program: its constants, and operators that are not in the table."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

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
