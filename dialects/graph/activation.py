"""Activations: elementwise functions of floats, most with a parameter."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import Float32Type, FloatAttr, StringAttr, f32
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.graph.base import AnyTensor, Kind, SameTypeOp
from stepwell.dialects.graph.elementwise import FloatUnaryOp, UnaryOp
from stepwell.dialects.graph.relations import Domain, expect_domain, expect_same_element, expect_scalar


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    max(x, 0); NaN stays NaN.

    ```mlir
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
    Source: ONNX Relu, opset 14.
    """

    name = "graph.relu"
    DOMAIN: ClassVar[Domain] = Domain.NUMBER


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """
    1 / (1 + exp(-x)), the logistic function.

    ```mlir
    %y = graph.sigmoid %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Sigmoid, opset 13.
    """

    name = "graph.sigmoid"


@irdl_op_definition
class SoftplusOp(FloatUnaryOp):
    """
    max(x, 0) + log1p(exp(-|x|)), which is log(1 + exp(x)) without overflow.

    ```mlir
    %y = graph.softplus %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Softplus, opset 22.
    """

    name = "graph.softplus"


class AlphaOp(FloatUnaryOp):
    """An activation with one parameter, `alpha`."""

    assembly_format = "$input `alpha` $alpha attr-dict `:` type($input) `->` type($result)"

    alpha = prop_def(FloatAttr[Float32Type])

    DEFAULT_ALPHA: ClassVar[float] = 1.0

    def __init__(self, input: SSAValue, alpha: float | None = None):
        super().__init__(input, {"alpha": FloatAttr(self.DEFAULT_ALPHA if alpha is None else alpha, f32)})


@irdl_op_definition
class LeakyReluOp(AlphaOp):
    """
    x where x >= 0, else alpha * x.

    ```mlir
    %y = graph.leaky_relu %x alpha 0.01 : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX LeakyRelu, opset 16.
    """

    name = "graph.leaky_relu"
    DEFAULT_ALPHA: ClassVar[float] = 0.01


@irdl_op_definition
class EluOp(AlphaOp):
    """
    x where x >= 0, else alpha * (exp(x) - 1).

    ```mlir
    %y = graph.elu %x alpha 1.0 : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Elu, opset 22.
    """

    name = "graph.elu"


@irdl_op_definition
class SiluOp(AlphaOp):
    """
    x * sigmoid(alpha * x); also called swish.

    ```mlir
    %y = graph.silu %x alpha 1.0 : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Swish, opset 24.
    """

    name = "graph.silu"


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """
    x * Φ(x), with Φ by erf, or approximated by tanh.

    ```mlir
    %y = graph.gelu %x approximate "none" : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
      (C2) `approximate` is "none" or "tanh".
    Source: ONNX Gelu, opset 20.
    """

    name = "graph.gelu"
    assembly_format = "$input `approximate` $approximate attr-dict `:` type($input) `->` type($result)"

    approximate = prop_def(StringAttr)

    def __init__(self, input: SSAValue, approximate: str = "none"):
        super().__init__(input, {"approximate": StringAttr(approximate)})

    def check(self) -> None:
        super().check()
        if self.approximate.data not in ("none", "tanh"):  # (C2)
            raise VerifyException(f'approximate must be "none" or "tanh", found "{self.approximate.data}"')


@irdl_op_definition
class ClipOp(SameTypeOp):
    """
    min(max(x, lo), hi), either bound optional: `hi` wins where the bounds cross, NaN stays NaN.

    ```mlir
    %y = graph.clip %x lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats or integers.
      (C2) the bounds have the element type of the input.
      (C3) the bounds have rank 0.
    Source: ONNX Clip, opset 13.
    """

    name = "graph.clip"
    KIND: ClassVar[Kind] = Kind.ELEMENTWISE

    input = operand_def(AnyTensor)
    lo = opt_operand_def(AnyTensor)
    hi = opt_operand_def(AnyTensor)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$input (`lo` $lo^ `:` type($lo))? (`hi` $hi^ `:` type($hi))? attr-dict"
        " `:` type($input) `->` type($result)"
    )

    def __init__(self, input: SSAValue, lo: SSAValue | None = None, hi: SSAValue | None = None):
        self.initialize([input, lo, hi])

    def check(self) -> None:
        expect_domain(self.input, Domain.NUMBER)  # (C1)
        for bound, what in ((self.lo, "lo"), (self.hi, "hi")):
            if bound is not None:
                expect_same_element(self.input, bound)  # (C2)
                expect_scalar(bound, what)  # (C3)
