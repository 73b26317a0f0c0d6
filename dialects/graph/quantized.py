"""Quantization at the graph level: numbers as integers times a scale."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i32, i64
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import (
    Domain,
    differ,
    element_of_value,
    expect_axis,
    expect_domain,
    is_float,
    is_integer,
    shape_text,
    with_element,
)
from stepwell.dialects.types import dims_of, int_attr, tensor_of
from stepwell.runtime.dims import Dim

_ZERO = int_attr(0)


class ScaledOp(GraphOp, ABC):
    """
    An elementwise op with a scale and a zero point: of the tensor, for each index of `axis`, or, with
    `block`, for each so many of them.
    """

    KIND: ClassVar[Kind] = Kind.BROADCAST

    input = operand_def(AnyTensor)
    scale = operand_def(AnyTensor)
    zero_point = opt_operand_def(AnyTensor)
    result = result_def(AnyTensor)
    axis = prop_def(IntegerAttr.constr(i64), default_value=_ZERO)
    to = prop_def(TypeAttribute)

    traits = traits_def(Pure())

    @property
    def block_size(self) -> int:
        """The number of elements along the axis that share a scale; 0 when there are no blocks."""
        return 0

    def scale_dims(self) -> tuple[Dim, ...]:
        """The required shape of a scale that is no single number."""
        dims, axis, block = dims_of(self.input.type), self.axis.value.data, self.block_size
        if not block:
            return dims[axis : axis + 1]
        return (*dims[:axis], dims[axis].ceildiv(block), *dims[axis + 1 :])

    def check_scale(self) -> None:
        """Require scale and zero point to be a scalar, a number per index of the axis, or per block."""
        dims, scale = dims_of(self.input.type), dims_of(self.scale.type)
        if self.block_size < 0:
            raise VerifyException(f"block must not be negative, found {self.block_size}")
        if scale or self.block_size:
            expect_axis(self.axis.value.data, len(dims))
            wanted = self.scale_dims()
            if len(scale) != len(wanted) or any(differ(a, b) for a, b in zip(scale, wanted, strict=True)):
                raise VerifyException(
                    f"scale must have shape {shape_text(wanted)}, found {shape_text(scale)}"
                )
        if self.zero_point is not None and dims_of(self.zero_point.type) not in ((), scale):
            raise VerifyException(
                f"zero_point must be one number or have the scale's shape {shape_text(scale)}, "
                f"found {shape_text(dims_of(self.zero_point.type))}"
            )

    def infer(self) -> Sequence[Attribute]:
        return [with_element(tensor_of(self.input), self.to)]


@irdl_op_definition
class QuantizeOp(ScaledOp):
    """
    Divide by a scale, round half to even, add a zero point, saturate.

    ```mlir
    %y = graph.quantize %x, %s zero_point %z : tensor<ui8> to ui8
      : (tensor<2x64xf32>, tensor<f32>) -> tensor<2x64xui8>
    %v = graph.quantize %x, %t axis 1 block 32 to i4 : (tensor<2x64xf32>, tensor<2x2xf32>) -> tensor<2x64xi4>
    ```
    The quotient is rounded to `compute_type`, the scale's by default. Narrow floats take no zero point;
    `saturate = false` gives Inf or NaN beyond their range.
    Constraints:
      (C1) `input` is a float or i32, `scale` a float, `to` an integer of at most 16 bits or a narrow float.
      (C2) `scale` has rank 0, the extent of `axis`, or the input's shape with ⌈extent / block⌉ there.
      (C3) `zero_point` has rank 0 or the shape of `scale`, and the type `to`.
    Source: ONNX QuantizeLinear, opset 25.
    """

    name = "graph.quantize"

    block = prop_def(IntegerAttr.constr(i64), default_value=_ZERO)
    compute_type = opt_prop_def(TypeAttribute)
    saturate = prop_def(BoolAttr, default_value=BoolAttr.from_bool(True))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input `,` $scale (`zero_point` $zero_point^ `:` type($zero_point))? "
        "(`axis` $axis^)? (`block` $block^)? `to` $to "
        "(`compute_type` $compute_type^)? (`saturate` $saturate^)? "
        "attr-dict `:` `(` type($input) `,` type($scale) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue,
        zero_point: SSAValue | None = None,
        *,
        to: Attribute,
        axis: int = 0,
        block: int = 0,
        compute_type: Attribute | None = None,
        saturate: bool = True,
    ):
        self.initialize(
            [input, scale, zero_point],
            {"axis": axis, "block": block, "to": to, "compute_type": compute_type, "saturate": saturate},
        )

    @property
    def block_size(self) -> int:
        return self.block.value.data

    def check(self) -> None:
        expect_domain(self.scale, Domain.FLOAT, "scale")  # (C1)
        element = element_of_value(self.input)
        if not is_float(element) and element != i32:
            raise VerifyException(f"element type must be a float or i32, found {element}")
        self.check_scale()  # (C2)
        if self.zero_point is not None:  # (C3)
            expect_zero_point_type(self.zero_point, self.to)


@irdl_op_definition
class DequantizeOp(ScaledOp):
    """
    The numbers that quantized ones stand for: less the zero point, times the scale.

    ```mlir
    %y = graph.dequantize %x, %s zero_point %z : tensor<3xi8> to f32
      : (tensor<3x8xi8>, tensor<3xf32>) -> tensor<3x8xf32>
    ```
    Constraints:
      (C1) `input` is an integer or a narrow float, `scale` and `to` are floats.
      (C2) `scale` has rank 0, the extent of `axis`, or the input's shape with ⌈extent / block⌉ there.
      (C3) `zero_point` has rank 0 or the shape of `scale`, and the type of `input`.
    Source: ONNX DequantizeLinear, opset 25.
    """

    name = "graph.dequantize"

    block = prop_def(IntegerAttr.constr(i64), default_value=_ZERO)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input `,` $scale (`zero_point` $zero_point^ `:` type($zero_point))? "
        "(`axis` $axis^)? (`block` $block^)? `to` $to "
        "attr-dict `:` `(` type($input) `,` type($scale) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue,
        zero_point: SSAValue | None = None,
        *,
        to: Attribute | None = None,
        axis: int = 0,
        block: int = 0,
    ):
        self.initialize(
            [input, scale, zero_point], {"axis": axis, "block": block, "to": to or element_of_value(scale)}
        )

    @property
    def block_size(self) -> int:
        return self.block.value.data

    def check(self) -> None:
        expect_domain(self.input, Domain.NUMBER)  # (C1)
        expect_domain(self.scale, Domain.FLOAT, "scale")
        if not is_float(self.to):
            raise VerifyException(f"`to` must be a float, found {self.to}")
        self.check_scale()  # (C2)
        if self.zero_point is not None:  # (C3)
            expect_zero_point_type(self.zero_point, element_of_value(self.input))


@irdl_op_definition
class RequantizeOp(ScaledOp):
    """
    Sums of products as quantized numbers: times a scale in f32, round half to even, plus a zero point,
    saturate.

    ```mlir
    %y = graph.requantize %x, %s zero_point %z : tensor<8xui8> axis 1 to ui8
      : (tensor<2x8xi32>, tensor<8xf32>) -> tensor<2x8xui8>
    ```
    Constraints:
      (C1) `input` is i32, `scale` f32, `to` an integer of at most 16 bits.
      (C2) `scale` has rank 0 or the extent of `axis`.
      (C3) `zero_point` has rank 0 or the shape of `scale`, and the type `to`.
    Source: ONNX QLinearMatMul, opset 21.
    """

    name = "graph.requantize"

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input `,` $scale (`zero_point` $zero_point^ `:` type($zero_point))? (`axis` $axis^)? `to` $to "
        "attr-dict `:` `(` type($input) `,` type($scale) `)` `->` type($result)"
    )

    def __init__(
        self,
        input: SSAValue,
        scale: SSAValue,
        zero_point: SSAValue | None = None,
        *,
        to: Attribute,
        axis: int = 0,
    ):
        self.initialize([input, scale, zero_point], {"axis": axis, "to": to})

    def check(self) -> None:
        if (element := element_of_value(self.input)) != i32:  # (C1)
            raise VerifyException(f"element type must be i32, found {element}")
        expect_domain(self.scale, Domain.FLOAT, "scale")
        if not is_integer(self.to):
            raise VerifyException(f"`to` must be an integer, found {self.to}")
        self.check_scale()  # (C2)
        if self.zero_point is not None:  # (C3)
            expect_zero_point_type(self.zero_point, self.to)


def expect_zero_point_type(zero_point: SSAValue, wanted: Attribute) -> None:
    if (found := element_of_value(zero_point)) != wanted:
        raise VerifyException(f"zero_point must be {wanted}, found {found}")
