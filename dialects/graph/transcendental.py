"""Elementwise functions of floats: exponentials, roots, trigonometry, hyperbolics."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from stepwell.dialects.graph.elementwise import FloatUnaryOp


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """
    e to the power of each element.

    ```mlir
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Exp, opset 13.
    """

    name = "graph.exp"


@irdl_op_definition
class Expm1Op(FloatUnaryOp):
    """
    exp(x) - 1, exact also near 0.

    ```mlir
    %y = graph.expm1 %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: C99 expm1.
    """

    name = "graph.expm1"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """
    The natural logarithm; -inf at 0, NaN below.

    ```mlir
    %y = graph.log %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Log, opset 13.
    """

    name = "graph.log"


@irdl_op_definition
class Log1pOp(FloatUnaryOp):
    """
    log(1 + x), exact also near 0.

    ```mlir
    %y = graph.log1p %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: C99 log1p.
    """

    name = "graph.log1p"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """
    The square root; NaN below 0.

    ```mlir
    %y = graph.sqrt %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Sqrt, opset 13.
    """

    name = "graph.sqrt"


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """
    The reciprocal of the square root; inf at 0.

    ```mlir
    %y = graph.rsqrt %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: LLVM and MLIR math.rsqrt.
    """

    name = "graph.rsqrt"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """
    The sine, of radians.

    ```mlir
    %y = graph.sin %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Sin, opset 22.
    """

    name = "graph.sin"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """
    The cosine, of radians.

    ```mlir
    %y = graph.cos %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Cos, opset 22.
    """

    name = "graph.cos"


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """
    The tangent, of radians.

    ```mlir
    %y = graph.tan %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Tan, opset 22.
    """

    name = "graph.tan"


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    """
    The inverse sine, in radians; NaN outside [-1, 1].

    ```mlir
    %y = graph.asin %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Asin, opset 22.
    """

    name = "graph.asin"


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    """
    The inverse cosine, in radians; NaN outside [-1, 1].

    ```mlir
    %y = graph.acos %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Acos, opset 22.
    """

    name = "graph.acos"


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """
    The inverse tangent, in radians.

    ```mlir
    %y = graph.atan %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Atan, opset 22.
    """

    name = "graph.atan"


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    """
    The hyperbolic sine.

    ```mlir
    %y = graph.sinh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Sinh, opset 22.
    """

    name = "graph.sinh"


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    """
    The hyperbolic cosine.

    ```mlir
    %y = graph.cosh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Cosh, opset 22.
    """

    name = "graph.cosh"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """
    The hyperbolic tangent.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Tanh, opset 13.
    """

    name = "graph.tanh"


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    """
    The inverse hyperbolic sine.

    ```mlir
    %y = graph.asinh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Asinh, opset 22.
    """

    name = "graph.asinh"


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    """
    The inverse hyperbolic cosine; NaN below 1.

    ```mlir
    %y = graph.acosh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Acosh, opset 22.
    """

    name = "graph.acosh"


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    """
    The inverse hyperbolic tangent; NaN outside [-1, 1].

    ```mlir
    %y = graph.atanh %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Atanh, opset 22.
    """

    name = "graph.atanh"


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """
    The Gauss error function.

    ```mlir
    %y = graph.erf %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Constraints:
      (C1) elements are floats.
    Source: ONNX Erf, opset 13.
    """

    name = "graph.erf"
