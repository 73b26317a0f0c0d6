"""The pattern that converts a call by the table, and that of constants."""

from __future__ import annotations

from typing import ClassVar

from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.stablehlo_to_graph.support import CONVERSIONS, Call
from stepwell.lowering.to_graph import Conversions, Converted, ForeignLowering, ForeignWeightLowering, Formula


class WeightLowering(ForeignWeightLowering):
    """
    A constant → `graph.constant` of the same bytes.

    ```mlir
    %w = "stablehlo.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


class StablehloLowering(ForeignLowering):
    """
    Any operation of the table → what its function makes.

    ```mlir
    %y = "stablehlo.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.tanh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""
        return CONVERSIONS[op.SIGNATURE.name](Call(op, at))
