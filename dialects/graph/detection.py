"""Operators that select boxes in images, and join the parts of a selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import element_of_value, expect_dims
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_type
from stepwell.runtime.dims import Dim


@irdl_op_definition
class NonMaxSuppressionOp(GraphOp):
    """
    The best boxes of each class, none of which overlaps a better one: at most `most`, and their number.

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

    boxes = operand_def(AnyTensor)
    scores = operand_def(AnyTensor)
    overlap = operand_def(AnyTensor)
    least = opt_operand_def(AnyTensor)
    most = prop_def(DimsAttr)
    center = prop_def(BoolAttr)
    chosen = result_def(AnyTensor)
    counts = result_def(AnyTensor)

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
            if value is not None and (element_of_value(value) != f32 or dims_of(value.type)):
                raise VerifyException(f"{what} must be f32 of rank 0, found {value.type}")
        if len(self.most.get()) != 1:  # (C3)
            raise VerifyException(f"most must be one dimension, found {len(self.most.get())}")

    def infer(self) -> Sequence[Attribute]:  # (C4)
        dims = dims_of(self.scores.type)[:2]
        return [tensor_type(i64, [*dims, self.most.get()[0]]), tensor_type(i64, dims)]


@irdl_op_definition
class JoinPartsOp(GraphOp):
    """
    The first `counts[i, j]` elements of each part `parts[i, j]`, one after another, as rows (i, j, element).

    ```mlir
    %y = graph.join_parts %parts, %counts size <["K"]>
      : (tensor<2x20x50xi64>, tensor<2x20xi64>) -> tensor<?x3xi64, #graph.dims<["K", 3]>>
    ```
    Constraints:
      (C1) parts and counts are i64, and counts have the dimensions of parts but the last.
      (C2) `size` is one dimension: the sum of the counts, none of which is above the size of a part.
      (C3) `result = [size, rank of parts]`.
    """

    name = "graph.join_parts"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    parts = operand_def(AnyTensor)
    counts = operand_def(AnyTensor)
    size = prop_def(DimsAttr)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$parts `,` $counts `size` $size attr-dict `:` functional-type(operands, results)"

    def __init__(self, parts: SSAValue, counts: SSAValue, size: DimLike):
        self.initialize([parts, counts], {"size": dims_attr([size])})

    def check(self) -> None:
        for what, value in (("parts", self.parts), ("counts", self.counts)):  # (C1)
            if element_of_value(value) != i64:
                raise VerifyException(f"{what} must be i64, found {element_of_value(value)}")
        if not dims_of(self.parts.type):
            raise VerifyException("parts must have a dimension")
        expect_dims(self.counts, dims_of(self.parts.type)[:-1], "counts")
        if len(self.size.get()) != 1:  # (C2)
            raise VerifyException(f"size must be one dimension, found {len(self.size.get())}")

    def infer(self) -> Sequence[Attribute]:  # (C3)
        return [tensor_type(i64, [self.size.get()[0], Dim.of(len(dims_of(self.parts.type)))])]
