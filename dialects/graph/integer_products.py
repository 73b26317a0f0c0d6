"""Sums of products of 8-bit integers at the graph level: convolutions, and packed 32-bit operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.contraction import BYTES, BYTES_OF_WORD
from stepwell.dialects.graph.convolution import SlidingFiltersOp, window_properties
from stepwell.dialects.graph.quantized import expect_zero_point_type
from stepwell.dialects.graph.relations import element_of_value, is_integer, shape_text
from stepwell.dialects.types import dims_of, dtype_of, int_attr, tensor_type

_ZERO = int_attr(0)


@irdl_op_definition
class WordsOp(GraphOp):
    """
    Neighbouring bytes, or numbers of 16 bits, as one i32, the first one lowest: a view of the same memory.

    ```mlir
    %y = graph.words %x : tensor<8x64xui8> -> tensor<8x16xi32>
    ```
    Constraints:
      (C1) `input` has integers of 8 or 16 bits, and rank 1 or more.
      (C2) the last dimension is a multiple of 4, or of 2.
    """

    name = "graph.words"
    KIND: ClassVar[Kind] = Kind.INJECTIVE

    input = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue):
        self.initialize([input])

    @property
    def parts(self) -> int:
        """The number of elements packed into 32 bits."""
        return 4 // dtype_of(element_of_value(self.input)).itemsize

    def check(self) -> None:
        element = element_of_value(self.input)
        if not is_integer(element) or dtype_of(element).itemsize > 2:  # (C1)
            raise VerifyException(f"element type must be an integer of 8 or 16 bits, found {element}")
        dims = dims_of(self.input.type)
        if not dims or (dims[-1].is_static and dims[-1].value % self.parts):  # (C2)
            raise VerifyException(
                f"the last dimension must be a multiple of {self.parts}, found {shape_text(dims)}"
            )

    def infer(self) -> Sequence[Attribute]:
        dims = dims_of(self.input.type)
        return [tensor_type(i32, (*dims[:-1], dims[-1] // self.parts))]


@irdl_op_definition
class ConvIntegerOp(SlidingFiltersOp):
    """
    Convolution of 8-bit integers, less their zero points, summed in i32.

    ```mlir
    %y = graph.conv_integer %x, %w x_zero_point %p : tensor<ui8>
      strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
      : (tensor<1x64x56x56xui8>, tensor<128x64x3x3xi8>) -> tensor<1x128x56x56xi32>
    %z = graph.conv_integer %u, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] border 3
      data_layout "NHWC" kernel_layout "OHWI32o"
      : (tensor<1x56x56x16xi32>, tensor<4x3x3x16x32xi32>) -> tensor<1x56x56x128xi32>
    ```
    Cells that `pads` add are the zero point of `x`; without one, bytes of `border`. Operands of i32 are
    packed: four channels in each element, unsigned bytes in `x`, signed ones in `w`; with `parts 2`,
    two signed numbers of 16 bits.
    Constraints:
      (C1) `x` and `w` are 8-bit integers, signed or not, or both packed, without zero points.
      (C2) `x_zero_point` has rank 0, `w_zero_point` rank 0 or one number a filter; types as their operands.
      (C3) a `border` other than 0 stands for a zero point: `x_zero_point` is absent.
      (C4) windows, layouts and the result's shape are those of `graph.conv`; sums wrap.
    Source: ONNX ConvInteger, opset 10.
    """

    name = "graph.conv_integer"

    x = operand_def(AnyTensor)
    w = operand_def(AnyTensor)
    x_zero_point = opt_operand_def(AnyTensor)
    w_zero_point = opt_operand_def(AnyTensor)
    border = prop_def(IntegerAttr.constr(i64), default_value=_ZERO)
    parts = prop_def(IntegerAttr.constr(i64), default_value=BYTES_OF_WORD)

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$x `,` $w (`x_zero_point` $x_zero_point^ `:` type($x_zero_point))? "
        "(`w_zero_point` $w_zero_point^ `:` type($w_zero_point))? "
        "`strides` $strides `dilations` $dilations `pads` $pads (`border` $border^)? (`parts` $parts^)? "
        "(`groups` $groups^)? "
        "(`data_layout` $data_layout^)? (`kernel_layout` $kernel_layout^)? (`out_layout` $out_layout^)? "
        "attr-dict `:` `(` type($x) `,` type($w) `)` `->` type($result)"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        x_zero_point: SSAValue | None = None,
        w_zero_point: SSAValue | None = None,
        *,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        border: int = 0,
        parts: int = 4,
        groups: int = 1,
        data_layout: str | None = None,
        kernel_layout: str | None = None,
        out_layout: str | None = None,
    ):
        layouts = data_layout, kernel_layout, out_layout
        windows = window_properties(x, w, strides, dilations, pads, groups, layouts)
        self.initialize([x, w, x_zero_point, w_zero_point], {**windows, "border": border, "parts": parts})

    def result_element(self) -> Attribute:
        return i32

    def check(self) -> None:
        points = (self.x_zero_point, self.w_zero_point)
        words = element_of_value(self.x) == element_of_value(self.w) == i32 and points == (None, None)
        for name, value, zero_point in (("x", self.x, points[0]), ("w", self.w, points[1])):
            if not words and (element := element_of_value(value)) not in BYTES:  # (C1)
                raise VerifyException(f"operand {name} must have 8-bit integers, found {element}")
            if zero_point is not None:  # (C2)
                expect_zero_point_type(zero_point, element_of_value(value))
        if self.x_zero_point is not None and dims_of(self.x_zero_point.type):
            raise VerifyException(f"x_zero_point must have rank 0, found {self.x_zero_point.type}")
        if self.w_zero_point is not None and len(dims_of(self.w_zero_point.type)) > 1:
            raise VerifyException(f"w_zero_point must have rank 0 or 1, found {self.w_zero_point.type}")
        if self.border.value.data and self.x_zero_point is not None:  # (C3)
            raise VerifyException("`border` must be 0 beside an x_zero_point, which fills the padding")
        super().check()  # (C4)
