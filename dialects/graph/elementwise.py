"""Elementwise operators on one tensor: arithmetic, rounding, transcendental functions, tests and casts."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, StringAttr, i1
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import Kind, SameTypeOp
from stepwell.dialects.graph.relations import Domain, element_of_value, expect_domain, with_element
from stepwell.dialects.type_variables import nothing_said
from stepwell.dialects.types import dims_of, dtype_of, tensor_of, tensor_type


class UnaryOp(SameTypeOp, ABC):
    """An elementwise op on one tensor, whose result has the operand's type."""

    KIND: ClassVar[Kind] = Kind.ELEMENTWISE
    DOMAIN: ClassVar[Domain]
    """The element types of the operand: constraint (C1) of each op."""

    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue, properties: dict[str, Attribute] | None = None):
        self.initialize([input], properties or {})

    def check(self) -> None:
        expect_domain(self.input, self.DOMAIN)


@irdl_op_definition
class NegOp(UnaryOp):
    """
    The negative of each element; integers wrap.

    ```mlir
    %y = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
    Source: ONNX Neg, opset 13.
    """

    name = "graph.neg"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    The absolute value of each element; the lowest integer stays itself.

    ```mlir
    %y = graph.abs %x : tensor<4xi32> -> tensor<4xi32>
    ```
    Constraints:
      (C1) elements are floats or integers.
    Source: ONNX Abs, opset 13.
    """

    name = "graph.abs"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class SignOp(UnaryOp):
    """
    -1, 0 or 1 by the sign of each element; NaN stays NaN.

    ```mlir
    %y = graph.sign %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
    Source: ONNX Sign, opset 13.
    """

    name = "graph.sign"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class NotOp(UnaryOp):
    """
    The complement of each element: of a truth value, or of an integer's bits.

    ```mlir
    %y = graph.not %x : tensor<4xi1> -> tensor<4xi1>
    ```
    Constraints:
      (C1) elements are i1 or integers.
    Source: ONNX Not, opset 1, and BitwiseNot, opset 18.
    """

    name = "graph.not"
    DOMAIN: ClassVar[Domain] = Domain.BITS


class FloatUnaryOp(UnaryOp, ABC):
    """An elementwise function of floats; IEEE results at the edges; f16 and bf16 compute in f32."""

    DOMAIN: ClassVar[Domain] = Domain.FLOAT


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    """
    The greatest whole number that is not above each element.

    ```mlir
    %y = graph.floor %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Floor, opset 13.
    """

    name = "graph.floor"


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    """
    The least whole number that is not below each element.

    ```mlir
    %y = graph.ceil %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Ceil, opset 13.
    """

    name = "graph.ceil"


@irdl_op_definition
class TruncOp(FloatUnaryOp):
    """
    Each element without its fraction.

    ```mlir
    %y = graph.trunc %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: C99 trunc.
    """

    name = "graph.trunc"


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    """
    The nearest whole number; halves go to the even one.

    ```mlir
    %y = graph.round %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Round, opset 22.
    """

    name = "graph.round"


class FloatTestOp(UnaryOp, ABC):
    """An elementwise question about floats, answered by i1."""

    DOMAIN: ClassVar[Domain] = Domain.FLOAT

    def infer(self) -> Sequence[Attribute]:
        return [with_element(tensor_of(self.input), i1)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        return [tensor_type(nothing_said(), dims_of(results[0]))]


@irdl_op_definition
class IsNanOp(FloatTestOp):
    """
    Whether each element is not a number.

    ```mlir
    %y = graph.is_nan %x : tensor<4xf32> -> tensor<4xi1>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX IsNaN, opset 20.
    """

    name = "graph.is_nan"


@irdl_op_definition
class IsInfOp(FloatTestOp):
    """
    Whether each element is infinite, of the signs that `positive` and `negative` ask for.

    ```mlir
    %y = graph.is_inf %x positive true negative false : tensor<4xf32> -> tensor<4xi1>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX IsInf, opset 20.
    """

    name = "graph.is_inf"
    assembly_format = (
        "$input `positive` $positive `negative` $negative attr-dict `:` type($input) `->` type($result)"
    )

    positive = prop_def(BoolAttr)
    negative = prop_def(BoolAttr)

    def __init__(self, input: SSAValue, *, positive: bool = True, negative: bool = True):
        super().__init__(
            input, {"positive": BoolAttr.from_bool(positive), "negative": BoolAttr.from_bool(negative)}
        )


ROUNDINGS = ("nearest", "up", "down")


@irdl_op_definition
class CastOp(UnaryOp):
    """
    Convert each element to another type.

    Floats truncate to integers, and saturate to i32 or i64 before bits are dropped; integers drop high bits;
    any number is true unless it is 0. `saturate` and `round` speak of 8-bit floats only.

    ```mlir
    %y = graph.cast %x to i32 saturate true round "nearest" : tensor<4xf32> -> tensor<4xi32>
    ```
    Constraints:
      (C1) elements are of any type.
      (C2) `round` is "nearest", "up" or "down".
    Source: ONNX Cast, opset 24.
    """

    name = "graph.cast"
    DOMAIN: ClassVar[Domain] = Domain.ANY
    assembly_format = (
        "$input `to` $to `saturate` $saturate `round` $round attr-dict `:` type($input) `->` type($result)"
    )

    to = prop_def(TypeAttribute)
    saturate = prop_def(BoolAttr)
    round = prop_def(StringAttr)

    def __init__(self, input: SSAValue, to: Attribute, *, saturate: bool = True, round: str = "nearest"):
        super().__init__(
            input, {"to": to, "saturate": BoolAttr.from_bool(saturate), "round": StringAttr(round)}
        )

    def infer(self) -> Sequence[Attribute]:
        return [with_element(tensor_of(self.input), self.to)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        return [tensor_type(nothing_said(), dims_of(results[0]))]

    def check(self) -> None:
        super().check()
        if self.round.data not in ROUNDINGS:  # (C2)
            raise VerifyException(f'round must be "nearest", "up" or "down", found "{self.round.data}"')


@irdl_op_definition
class BitcastOp(UnaryOp):
    """
    Read the bits of each element as another type of the same width.

    ```mlir
    %y = graph.bitcast %x to i32 : tensor<4xf32> -> tensor<4xi32>
    ```
    Constraints:
      (C1) elements are of any type.
      (C2) both types have the same width; i1 takes a byte.
    Source: ONNX BitCast, opset 26.
    """

    name = "graph.bitcast"
    DOMAIN: ClassVar[Domain] = Domain.ANY
    assembly_format = "$input `to` $to attr-dict `:` type($input) `->` type($result)"

    to = prop_def(TypeAttribute)

    def __init__(self, input: SSAValue, to: Attribute):
        super().__init__(input, {"to": to})

    def infer(self) -> Sequence[Attribute]:
        return [with_element(tensor_of(self.input), self.to)]

    def check(self) -> None:
        super().check()
        source = dtype_of(element_of_value(self.input)).itemsize
        if source != (target := dtype_of(self.to).itemsize):  # (C2)
            raise VerifyException(f"bitcast needs types of one width, found {source} and {target} bytes")
