"""Elementwise arithmetic on two tensors that broadcast."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Commutative, Pure
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, GraphOp, Kind
from stepwell.dialects.graph.relations import (
    Domain,
    broadcast,
    element_of_value,
    expect_domain,
    expect_same_element,
    one_element,
)
from stepwell.dialects.types import dims_of, tensor_type


class BinaryOp(GraphOp, ABC):
    """An elementwise op on two tensors that broadcast; constraints (C1) to (C3) are common to all."""

    KIND: ClassVar[Kind] = Kind.BROADCAST
    DOMAIN: ClassVar[Domain]
    HAS_ONE_ELEMENT: ClassVar[bool] = True
    """Whether the result has the element type of the operands, which share theirs."""

    lhs = operand_def(AnyTensor)
    rhs = operand_def(AnyTensor)
    result = result_def(AnyTensor)

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, properties: dict[str, Attribute] | None = None):
        self.initialize([lhs, rhs], properties or {})

    def infer(self) -> Sequence[Attribute]:
        shape = broadcast([dims_of(self.lhs.type), dims_of(self.rhs.type)])  # (C3)
        return [tensor_type(self.result_element(), shape)]

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        return one_element([*operands, *results] if self.HAS_ONE_ELEMENT else operands, len(operands))

    def result_element(self) -> Attribute:
        """The element type of the result: that of the operands unless an op says otherwise."""
        return element_of_value(self.lhs)

    def check(self) -> None:
        expect_domain(self.lhs, self.DOMAIN)  # (C1)
        expect_same_element(self.lhs, self.rhs)  # (C2)


@irdl_op_definition
class AddOp(BinaryOp):
    """
    a + b; integers wrap.

    ```mlir
    %y = graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Add, opset 14.
    """

    name = "graph.add"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class SubtractOp(BinaryOp):
    """
    a - b; integers wrap.

    ```mlir
    %y = graph.subtract %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Sub, opset 14.
    """

    name = "graph.subtract"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """
    a * b; integers wrap.

    ```mlir
    %y = graph.multiply %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Mul, opset 14.
    """

    name = "graph.multiply"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class DivideOp(BinaryOp):
    """
    a / b; integers truncate toward zero, x / 0 is 0 and MIN / -1 is MIN.

    ```mlir
    %y = graph.divide %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Div, opset 14.
    """

    name = "graph.divide"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class RemainderOp(BinaryOp):
    """
    The remainder of a division: `floor` has the sign of b, `trunc` that of a; integers: x mod 0 is 0.

    ```mlir
    %y = graph.remainder %a, %b rounding "floor" : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi64>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
      (C4) `rounding` is "floor" or "trunc".
    Source: ONNX Mod, opset 13 (`fmod = 1` is `trunc`).
    """

    name = "graph.remainder"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    assembly_format = (
        "$lhs `,` $rhs `rounding` $rounding attr-dict"
        " `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)"
    )

    rounding = prop_def(StringAttr)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, rounding: str = "floor"):
        super().__init__(lhs, rhs, {"rounding": StringAttr(rounding)})

    def check(self) -> None:
        super().check()
        if self.rounding.data not in ("floor", "trunc"):  # (C4)
            raise VerifyException(f'rounding must be "floor" or "trunc", found "{self.rounding.data}"')


@irdl_op_definition
class PowerOp(BinaryOp):
    """
    a to the power of b, in the type of a.

    Integers: an exponent of at least 0 is exact and wraps; a negative one gives 1 / power, truncated. An
    integer base with a float exponent is computed in float, then truncated.

    ```mlir
    %y = graph.power %a, %b : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) elements of the exponent are floats or integers.
      (C3) the shapes broadcast.
    Source: ONNX Pow, opset 15.
    """

    name = "graph.power"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER

    def infer_operands(
        self, results: Sequence[Attribute], operands: Sequence[Attribute]
    ) -> Sequence[Attribute | None]:
        return [*one_element(results, 1), None]

    def check(self) -> None:
        expect_domain(self.lhs, self.DOMAIN)  # (C1)
        expect_domain(self.rhs, self.DOMAIN, "element type of the exponent")  # (C2)


@irdl_op_definition
class MaximumOp(BinaryOp):
    """
    The greater of two elements; NaN wins.

    ```mlir
    %y = graph.maximum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Max, opset 13.
    """

    name = "graph.maximum"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinimumOp(BinaryOp):
    """
    The lesser of two elements; NaN wins.

    ```mlir
    %y = graph.minimum %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) both operands have one element type.
      (C3) the shapes broadcast.
    Source: ONNX Min, opset 13.
    """

    name = "graph.minimum"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER
    traits = traits_def(Pure(), Commutative())
