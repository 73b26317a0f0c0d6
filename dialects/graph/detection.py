"""Operators on boxes in images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, TensorType, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.relations import element_of_value, expect_dims, expect_scalar
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_type
from stepwell.runtime.dims import Dim


@irdl_op_definition
class NonMaxSuppressionOp(GraphOp):
    """
    The boxes of each class that overlap no better one: at most `most`, best first, and how many they are.

    ```mlir
    %chosen, %counts = graph.non_max_suppression %boxes, %scores overlap %t least %s most <[50]> center true
      : (tensor<1x200x4xf32>, tensor<1x20x200xf32>, tensor<f32>, tensor<f32>)
      -> (tensor<1x20x50xi64>, tensor<1x20xi64>)
    ```
    For each batch and class, boxes whose score is above `least` are visited by descending score, those with
    the lower index first among equals and NaN last. A box is selected unless its overlap with a selected one
    is above `overlap`: the area that both share over the area that either covers, in f32. Without an area
    that is finite it has no overlap. `chosen` are the indices of the selected boxes, then zeros.
    A box is two corners, (y, x, y, x) in any order, or with `center` (x, y, width, height).
    Constraints:
      (C1) boxes are f32 [batch, boxes, 4], scores f32 [batch, classes, boxes].
      (C2) `overlap` and `least` are f32 of rank 0.
      (C3) `most` is one dimension.
      (C4) `chosen = [batch, classes, most]` and `counts = [batch, classes]`, of i64.
    Source: ONNX NonMaxSuppression, opset 11.
    """

    name = "graph.non_max_suppression"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    boxes = operand_def(TensorType)
    scores = operand_def(TensorType)
    overlap = operand_def(TensorType)
    least = opt_operand_def(TensorType)
    most = prop_def(DimsAttr)
    center = prop_def(BoolAttr)
    chosen = result_def(TensorType)
    counts = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = (
        "$boxes `,` $scores `overlap` $overlap (`least` $least^)? `most` $most `center` $center attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        boxes: SSAValue,
        scores: SSAValue,
        overlap: SSAValue,
        least: SSAValue | None = None,
        *,
        most: DimLike,
        center: bool = False,
    ):
        properties = {"most": dims_attr([most]), "center": center}
        self.initialize([boxes, scores, overlap, least], properties, [scores.type] * 2)

    def check(self) -> None:
        for what, value, rank in (("boxes", self.boxes, 3), ("scores", self.scores, 3)):  # (C1)
            if element_of_value(value) != f32 or len(dims_of(value.type)) != rank:
                raise VerifyException(f"{what} must be f32 of rank {rank}, found {value.type}")
        batch, _, count = dims_of(self.scores.type)
        expect_dims(self.boxes, [batch, count, Dim.of(4)], "boxes")
        for what, value in (("overlap", self.overlap), ("least", self.least)):  # (C2)
            if value is not None:
                expect_scalar(value, what)
        if len(self.most.get()) != 1:  # (C3)
            raise VerifyException(f"most must be one dimension, found {len(self.most.get())}")

    def infer(self) -> Sequence[Attribute]:  # (C4)
        dims = dims_of(self.scores.type)[:2]
        return [tensor_type(i64, [*dims, self.most.get()[0]]), tensor_type(i64, dims)]
