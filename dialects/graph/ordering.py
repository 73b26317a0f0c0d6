"""Operators that order elements: the greatest or least along an axis, reversed sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind, SameTypeOp
from stepwell.dialects.graph.relations import Domain, expect_axis, expect_dims, expect_domain
from stepwell.dialects.types import DimLike, DimsAttr, dims_attr, dims_of, tensor_of, tensor_type


@irdl_op_definition
class TopKOp(GraphOp):
    """
    The `k` greatest (or least) elements along an axis, in order, and their indices.

    Of equal elements the one with the lower index comes first; NaN is greater than all numbers.

    ```mlir
    %v, %i = graph.top_k %x k <[2]> axis 1 largest true
      : tensor<3x5xf32> -> (tensor<3x2xf32>, tensor<3x2xi64>)
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) `axis` is below the rank.
      (C3) `k` is one dimension, at most that of the axis.
    Source: ONNX TopK, opset 11.
    """

    name = "graph.top_k"
    KIND: ClassVar[Kind] = Kind.OPAQUE

    input = operand_def(AnyTensor)
    k = prop_def(DimsAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    largest = prop_def(BoolAttr)
    chosen = result_def(AnyTensor)
    indices = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$input `k` $k `axis` $axis `largest` $largest attr-dict `:` type($input)"
        " `->` `(` type($chosen) `,` type($indices) `)`"
    )

    def __init__(self, input: SSAValue, k: DimLike, axis: int, largest: bool = True):
        self.initialize(
            [input],
            {"k": dims_attr([k]), "axis": axis, "largest": largest},
            result_types=[input.type, input.type],
        )

    def infer(self) -> Sequence[Attribute]:
        dims = list(dims_of(self.input.type))
        dims[self.axis.value.data] = self.k.get()[0]
        return [tensor_type(tensor_of(self.input).element_type, dims), tensor_type(i64, dims)]

    def check(self) -> None:
        expect_domain(self.input, Domain.NUMBER)  # (C1)
        dims = dims_of(self.input.type)
        expect_axis(self.axis.value.data, len(dims))  # (C2)
        if len(self.k.get()) != 1:  # (C3)
            raise VerifyException(f"k must be one dimension, found {len(self.k.get())}")
        size, k = dims[self.axis.value.data], self.k.get()[0]
        if (k - size - 1).is_nonnegative:
            raise VerifyException(f"k must be at most {size}, found {k}")


@irdl_op_definition
class ReverseSequenceOp(SameTypeOp):
    """
    Turn the first `lengths[b]` elements along the time axis around, for each b along the batch axis.

    ```mlir
    %y = graph.reverse_sequence %x, %n batch_axis 0 time_axis 1
      : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<2x5xf32>
    ```
    Constraints:
      (C1) lengths are integers, one for each along the batch axis.
      (C2) the axes are below the rank and differ.
    Source: ONNX ReverseSequence, opset 10.
    """

    name = "graph.reverse_sequence"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    lengths = operand_def(AnyTensor)
    batch_axis = prop_def(IntegerAttr.constr(i64))
    time_axis = prop_def(IntegerAttr.constr(i64))

    assembly_format = (
        "$input `,` $lengths `batch_axis` $batch_axis `time_axis` $time_axis"
        " attr-dict `:` `(` type($input) `,` type($lengths) `)` `->` type($result)"
    )

    def __init__(self, input: SSAValue, lengths: SSAValue, batch_axis: int, time_axis: int):
        self.initialize([input, lengths], {"batch_axis": batch_axis, "time_axis": time_axis})

    def check(self) -> None:
        dims, batch, time = dims_of(self.input.type), self.batch_axis.value.data, self.time_axis.value.data
        expect_axis(batch, len(dims), "batch_axis")  # (C2)
        expect_axis(time, len(dims), "time_axis")
        if batch == time:
            raise VerifyException(f"batch_axis and time_axis must differ, both are {batch}")
        expect_domain(self.lengths, Domain.INTEGER, "lengths")  # (C1)
        expect_dims(self.lengths, [dims[batch]], "lengths")
