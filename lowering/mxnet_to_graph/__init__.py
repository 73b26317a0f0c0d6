"""`convert-mxnet-to-graph`: each operator of MXNet to `graph` ops of the same meaning."""

from __future__ import annotations

from typing import ClassVar

from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.mxnet_to_graph.support import CONVERSIONS, Call
from stepwell.lowering.to_graph import (
    Conversions,
    Converted,
    ConvertForeignPass,
    Families,
    ForeignLowering,
    ForeignWeightLowering,
    Formula,
)

__all__ = ["FAMILIES", "ConvertMxnetToGraphPass"]

FAMILIES = Families(
    __name__, CONVERSIONS, ("elementwise", "indexing", "movement", "norm", "product", "reduction", "window")
)
"""The files of conversions, one family of ops each."""


class WeightLowering(ForeignWeightLowering):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "mxnet.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


class MxnetLowering(ForeignLowering):
    """
    Any operator of the table → what its function makes.

    ```mlir
    %y = "mxnet.square"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""
        return CONVERSIONS[op.SIGNATURE.name](Call(op, at))


class ConvertMxnetToGraphPass(ConvertForeignPass):
    """
    Lower `mxnet` to `graph`: leaves functions of `graph` ops.

    A symbol has no shapes: those of values follow from the shapes of inputs and weights. Fails, and lists
    all such operators, when an operator has no conversion.
    """

    name = "convert-mxnet-to-graph"
    DIALECT = "mxnet"
    FAMILIES = FAMILIES
    LOWERING = MxnetLowering
    WEIGHTS = WeightLowering
    HELP = "replace the operators in the program that the model was made from, or export it to ONNX"
