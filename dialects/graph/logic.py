"""Elementwise comparisons, logic, bits and selection, on tensors that broadcast."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Commutative, Pure

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.relations import (
    Domain,
    broadcast,
    element_of_value,
    expect_domain,
    expect_same_element,
    one_element,
)
from stepwell.dialects.types import dims_of, tensor_type


class CompareOp(BinaryOp, ABC):
    """A comparison: i1 from two numbers, false where either is NaN (`not_equal`: true)."""

    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    HAS_ONE_ELEMENT: ClassVar[bool] = False

    def result_element(self) -> Attribute:
        return i1


@irdl_op_definition
class EqualOp(CompareOp):
    """
    Whether elements are equal; NaN equals nothing.

    ```mlir
    %y = graph.equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are of any type.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Equal, opset 19.
    """

    name = "graph.equal"
    DOMAIN: ClassVar[Domain] = Domain.ANY
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class NotEqualOp(CompareOp):
    """
    Whether elements differ; NaN differs from everything.

    ```mlir
    %y = graph.not_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are of any type.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: numpy not_equal.
    """

    name = "graph.not_equal"
    DOMAIN: ClassVar[Domain] = Domain.ANY
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class LessOp(CompareOp):
    """
    Whether a < b, signed or unsigned by the type.

    ```mlir
    %y = graph.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Less, opset 13.
    """

    name = "graph.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """
    Whether a <= b, signed or unsigned by the type.

    ```mlir
    %y = graph.less_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX LessOrEqual, opset 16.
    """

    name = "graph.less_equal"


@irdl_op_definition
class AndOp(BinaryOp):
    """
    Logical and of truth values, bitwise and of integers.

    ```mlir
    %y = graph.and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are i1 or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX And, opset 7, and BitwiseAnd, opset 18.
    """

    name = "graph.and"
    DOMAIN: ClassVar[Domain] = Domain.BITS
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class OrOp(BinaryOp):
    """
    Logical or of truth values, bitwise or of integers.

    ```mlir
    %y = graph.or %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are i1 or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Or, opset 7, and BitwiseOr, opset 18.
    """

    name = "graph.or"
    DOMAIN: ClassVar[Domain] = Domain.BITS
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class XorOp(BinaryOp):
    """
    Logical exclusive or of truth values, bitwise of integers.

    ```mlir
    %y = graph.xor %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
    ```
    Constraints:
      (C1) elements are i1 or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Xor, opset 7, and BitwiseXor, opset 18.
    """

    name = "graph.xor"
    DOMAIN: ClassVar[Domain] = Domain.BITS
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """
    a shifted left by b bits; an amount below 0 or of at least the width leaves 0.

    ```mlir
    %y = graph.shift_left %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    ```
    Constraints:
      (C1) elements are integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX BitShift, opset 28.
    """

    name = "graph.shift_left"
    DOMAIN: ClassVar[Domain] = Domain.INTEGER


@irdl_op_definition
class ShiftRightOp(BinaryOp):
    """
    a shifted right by b bits, arithmetically if signed; an amount below 0 or too large shifts all bits out.

    ```mlir
    %y = graph.shift_right %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
    ```
    Constraints:
      (C1) elements are integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX BitShift, opset 28.
    """

    name = "graph.shift_right"
    DOMAIN: ClassVar[Domain] = Domain.INTEGER


@irdl_op_definition
class WhereOp(GraphOp):
    """
    `on_true` where the condition holds, `on_false` elsewhere; all three broadcast.

    ```mlir
    %y = graph.where %c, %a, %b : (tensor<2x1xi1>, tensor<3xf32>, tensor<f32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements of the condition are i1.
      (C2) both choices have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Where, opset 16.
    """

    name = "graph.where"
    KIND: ClassVar[Kind] = Kind.BROADCAST

    condition = operand_def(AnyTensor)
    on_true = operand_def(AnyTensor)
    on_false = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = (
        "$condition `,` $on_true `,` $on_false attr-dict"
        " `:` `(` type($condition) `,` type($on_true) `,` type($on_false) `)` `->` type($result)"
    )

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue):
        self.initialize([condition, on_true, on_false])

    def infer(self) -> Sequence[Attribute]:
        shape = broadcast([dims_of(operand.type) for operand in self.operands])  # (C3)
        return [tensor_type(element_of_value(self.on_true), shape)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        return [None, *one_element([*operands[1:], *results], 2)]

    def check(self) -> None:
        expect_domain(self.condition, Domain.BOOL, "element type of the condition")  # (C1)
        expect_same_element(self.on_true, self.on_false)  # (C2)
