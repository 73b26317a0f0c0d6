"""The pattern that converts a call by the table, and that of weights."""

from __future__ import annotations

from typing import ClassVar

from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.to_graph import Conversions, Converted, ForeignLowering, ForeignWeightLowering, Formula
from stepwell.lowering.torch_to_graph.support import CONVERSIONS, Call


class WeightLowering(ForeignWeightLowering):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "torch.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


class TorchLowering(ForeignLowering):
    """
    Any overload of the table → what its function makes.

    ```mlir
    %y = "torch.aten.relu.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""
        return CONVERSIONS[op.SIGNATURE.name](Call(op, at))
