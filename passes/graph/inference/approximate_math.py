"""`approximate-math`: transcendental functions by shorter, less exact polynomials than `expand-math` uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.norm_parts import Parts
from stepwell.passes.options import expect_rewrites
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class ApproximateMathPass(FunctionPass):
    """
    Replace `exp`, `tanh`, `sigmoid` and `erf` of f32 by short polynomials.

    | Function | Largest error |
    |---|---|
    | `exp` | 1e-5 relative on [-87, 88]; outside of it the value at the nearer end |
    | `tanh` | 1e-4 absolute |
    | `sigmoid` | 5e-5 absolute |
    | `erf` | 2e-4 absolute |

    Class: approximate, so in no default pipeline. NaN stays NaN.
    Source: TVM's FastMath. The polynomials are fitted for the least largest error.
    """

    name = "approximate-math"
    opt_level = 1
    numerics = Numerics.APPROXIMATE

    only: tuple[str, ...] = ()
    """Names of the functions to replace; all four when empty."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        expect_rewrites(self.name, self.only, _PATTERNS)
        apply_patterns(func.body, [_PATTERNS[name](weights_of(ctx)) for name in self.only or _PATTERNS])


@dataclass
class Approximation(RewritePattern):
    """The base class of the patterns: the weights, and builders of clipping, polynomials and tanh."""

    weights: WeightStore

    def polynomial(self, parts: Parts, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
        """A polynomial of x, the constant coefficient first, by Horner's method."""
        result = parts.scalar(coefficients[-1], x)
        for coefficient in reversed(coefficients[:-1]):
            result = parts.add(parts.multiply(result, x), parts.scalar(coefficient, x))
        return result

    def clipped(self, parts: Parts, x: SSAValue, lo: float, hi: float) -> SSAValue:
        """x clipped to the range from `lo` to `hi`."""
        bounds = parts.scalar(lo, x), parts.scalar(hi, x)
        return parts.rewriter.insert(graph.ClipOp(x, *bounds)).result

    def tanh(self, parts: Parts, x: SSAValue) -> SSAValue:
        """tanh(x) by a continued fraction, with x clipped at 4.97, beyond which tanh is 1 up to 1e-4."""
        x = self.clipped(parts, x, -4.97, 4.97)
        square = parts.multiply(x, x)
        above = self.polynomial(parts, square, (135135.0, 17325.0, 378.0, 1.0))
        below = self.polynomial(parts, square, (135135.0, 62370.0, 3150.0, 28.0))
        return parts.divide(parts.multiply(x, above), below)


class ApproximateExp(Approximation):
    """
    Replace exp(x) by 2^n · 2^f with f between -1/2 and 1/2: bits of an exponent, and a polynomial.

    ```mlir
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    // ->
    %lo = graph.constant dense<-87.0> : tensor<f32>
    %hi = graph.constant dense<88.0> : tensor<f32>
    %0 = graph.clip %x lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<4xf32> -> tensor<4xf32>
    …
    %y = graph.multiply %p, %n : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExpOp, rewriter: PatternRewriter) -> None:
        if tensor_of(op.input).element_type != f32:
            return
        parts = Parts(rewriter, self.weights)
        x = self.clipped(parts, op.input, -87.0, 88.0)
        scaled = parts.multiply(x, parts.scalar(log2(np.e), x))
        whole = rewriter.insert(graph.RoundOp(scaled)).result
        fraction = self.polynomial(parts, parts.subtract(scaled, whole), _POWER_OF_2)
        number = parts.cast(whole, i32)
        biased = parts.add(number, parts.scalar(127, number))
        bits = rewriter.insert(graph.ShiftLeftOp(biased, parts.scalar(23, number))).result
        rewriter.replace(op, graph.MultiplyOp(fraction, rewriter.insert(graph.BitcastOp(bits, f32)).result))


class ApproximateTanh(Approximation):
    """
    Replace tanh(x) by a quotient of polynomials.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32> -> tensor<4xf32>
    // ->
    …
    %y = graph.divide %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TanhOp, rewriter: PatternRewriter) -> None:
        if tensor_of(op.input).element_type == f32:
            rewriter.replace(op, [], [self.tanh(Parts(rewriter, self.weights), op.input)])


class ApproximateSigmoid(Approximation):
    """
    Replace sigmoid(x) by (1 + tanh(x / 2)) / 2, with the approximate tanh.

    ```mlir
    %y = graph.sigmoid %x : tensor<4xf32> -> tensor<4xf32>
    // ->
    …
    %half = graph.constant dense<0.5> : tensor<f32>
    %a = graph.multiply %t, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %y = graph.add %a, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SigmoidOp, rewriter: PatternRewriter) -> None:
        if tensor_of(op.input).element_type != f32:
            return
        parts = Parts(rewriter, self.weights)
        half = parts.scalar(0.5, op.input)
        bent = self.tanh(parts, parts.multiply(op.input, half))
        rewriter.replace(op, graph.AddOp(parts.multiply(bent, half), half))


class ApproximateErf(Approximation):
    """
    Replace erf(x) by x times a polynomial of x², with x clipped at 2.8, beyond which erf is 1 up to 1e-4.

    ```mlir
    %y = graph.erf %x : tensor<4xf32> -> tensor<4xf32>
    // ->
    …
    %y = graph.multiply %a, %p : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ErfOp, rewriter: PatternRewriter) -> None:
        if tensor_of(op.input).element_type != f32:
            return
        parts = Parts(rewriter, self.weights)
        x = self.clipped(parts, op.input, -2.8, 2.8)
        rewriter.replace(op, graph.MultiplyOp(x, self.polynomial(parts, parts.multiply(x, x), _ERF)))


_POWER_OF_2 = (0.99999926, 0.69312181, 0.24024745, 0.05591787, 0.00957008)
_ERF = (1.12730161, -0.370307541, 0.103592786, -0.0201331533, 2.51034164e-3, -1.77756723e-4, 5.37704263e-6)

_PATTERNS: dict[str, type[Approximation]] = {
    "exp": ApproximateExp,
    "tanh": ApproximateTanh,
    "sigmoid": ApproximateSigmoid,
    "erf": ApproximateErf,
}
