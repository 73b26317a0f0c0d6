"""`convert-coreml-to-graph`: each operation of an ML program to `graph` ops of the same meaning."""

from __future__ import annotations

from typing import ClassVar

from stepwell.dialects.foreign import ForeignOp
from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call
from stepwell.lowering.to_graph import (
    Conversions,
    Converted,
    ConvertForeignPass,
    Families,
    ForeignLowering,
    ForeignWeightLowering,
    Formula,
)

__all__ = ["FAMILIES", "ConvertCoremlToGraphPass"]

FAMILIES = Families(
    __name__,
    CONVERSIONS,
    ("binary", "compressed", "contraction", "indexing", "lists", "movement", "norm", "recurrent", "reduction")
    + ("resize", "sizes", "unary", "window"),
)
"""The files of conversions, one family of ops each."""


class WeightLowering(ForeignWeightLowering):
    """
    A weight → `graph.constant` of the same bytes.

    ```mlir
    %w = "coreml.weight"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
    // ->
    %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """


class CoremlLowering(ForeignLowering):
    """
    Any operation of the table → what its function makes.

    ```mlir
    %y = "coreml.square"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.multiply %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    CONVERSIONS: ClassVar[Conversions] = CONVERSIONS

    def converted(self, op: ForeignOp, at: Formula) -> Converted:
        """The values of a call's results."""
        return CONVERSIONS[op.SIGNATURE.name](Call(op, at))


class ConvertCoremlToGraphPass(ConvertForeignPass):
    """
    Lower `coreml` to `graph`: leaves functions of `graph` ops whose types are those of the model.

    The type of each converted value is compared with the model's own record. Fails, and lists all such
    operations, when an operation has no conversion.
    """

    name = "convert-coreml-to-graph"
    DIALECT = "coreml"
    FAMILIES = FAMILIES
    LOWERING = CoremlLowering
    WEIGHTS = WeightLowering
    HELP = "replace the operations in the program that the model was made from, or export it to ONNX"
