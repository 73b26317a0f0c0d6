"""Powers of floats: constant ones as products and roots, others through the logarithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, Float32Type, FloatAttr
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.passes.loop.math.by_lanes import element_of, lanes_of
from stepwell.passes.loop.math.lanes import Lanes
from stepwell.passes.loop.math.power import power
from stepwell.runtime.machine.target import TargetDescription


@dataclass
class ExpandPower(RewritePattern):
    """
    A power of f32 by the logarithm in f64 (approximate: 2 units in the last place).

    ```mlir
    %p = math.powf %x, %y : vector<16xf32>
    // ->
    %w = arith.extf %size : vector<16xf32> to vector<16xf64>
    …
    ```
    """

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.PowFOp, rewriter: PatternRewriter) -> None:
        if isinstance(element_of(op.lhs.type), Float32Type):
            x, y = (lanes_of(operand, self.target, rewriter) for operand in op.operands)
            rewriter.replace(op, [], [power(x, y).value])


class ExpandConstantPower(RewritePattern):
    """
    Powers that are products and roots: x^2, x^3, x^-1, x^0.5, x^-0.5, x^0.75, … (rounding).

    ```mlir
    %two = arith.constant 2.0 : f32
    %y = math.powf %x, %two : f32
    // ->
    %y = arith.mulf %x, %x : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.PowFOp, rewriter: PatternRewriter) -> None:
        exponent = _constant(op.rhs)
        if exponent is None or (recipe := _POWERS.get(exponent)) is None:
            return
        rewriter.replace(op, [], [recipe(Lanes(rewriter, op.lhs)).value])


def _root(x: Lanes) -> Lanes:
    # The power of -0 is 0, that of -inf is inf; of other negative numbers it is NaN like their root.
    return x.compare("oeq", float("-inf")).choose(float("inf"), (x + 0.0).root())


def _root_and_half(x: Lanes) -> Lanes:
    root = _root(x)
    return root * root.root()


_POWERS: dict[float, Callable[[Lanes], Lanes]] = {
    -2.0: lambda x: x.of(1.0) / (x * x),
    -1.0: lambda x: x.of(1.0) / x,
    -0.5: lambda x: x.of(1.0) / _root(x),
    0.0: lambda x: x.of(1.0),
    0.25: lambda x: _root(x).root(),
    0.5: _root,
    0.75: _root_and_half,
    1.0: lambda x: x,
    1.5: lambda x: x.absolute() * _root(x),
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    4.0: lambda x: (x * x) * (x * x),
}


def _constant(value: SSAValue) -> float | None:
    """The number of a constant, or of a vector constant that is equal in all lanes; None for other values."""
    match value.owner:
        case vector.BroadcastOp(source=source):
            return _constant(source)
        case arith.ConstantOp(value=FloatAttr(value=number)):
            return number.data
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as dense):
            numbers = set(dense.get_values())
            return float(cast(float, numbers.pop())) if len(numbers) == 1 else None
        case _:
            return None
