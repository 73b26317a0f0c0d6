"""The pass `expand-math`: transcendental functions written out in arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, ModuleOp, f32
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.arith import like
from stepwell.dialects.sched import NOT_POSITIVE
from stepwell.passes.loop.math import elementary, hyperbolic, trigonometric
from stepwell.passes.loop.math.by_lanes import (
    ExpandCircular,
    ExpandPeriodic,
    Transcendental,
    UnrollLanes,
    element_of,
    lanes_of,
)
from stepwell.passes.loop.math.float_power import ExpandConstantPower, ExpandPower
from stepwell.passes.loop.math.integer_power import ExpandIntegerPower
from stepwell.passes.loop.math.lanes import Lanes
from stepwell.passes.loop.math.number_extrema import CompareNumbers
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.machine.target import TargetDescription, target_from

_RECIPES: dict[type[Operation], Callable[[Lanes], Lanes]] = {
    math.AcosOp: trigonometric.acos,
    math.AcoshOp: hyperbolic.acosh,
    math.AsinOp: trigonometric.asin,
    math.AsinhOp: hyperbolic.asinh,
    math.AtanOp: trigonometric.atan,
    math.AtanhOp: hyperbolic.atanh,
    math.CoshOp: hyperbolic.cosh,
    math.ErfOp: elementary.erf,
    math.Exp2Op: elementary.exp2,
    math.ExpM1Op: elementary.expm1,
    math.ExpOp: elementary.exp,
    math.Log10Op: elementary.log10,
    math.Log1pOp: elementary.log1p,
    math.Log2Op: elementary.log2,
    math.LogOp: elementary.log,
    math.SinhOp: hyperbolic.sinh,
    math.TanhOp: elementary.tanh,
}

_WithRecipe: TypeAlias = (
    math.AcosOp | math.AcoshOp | math.AsinOp | math.AsinhOp | math.AtanOp | math.AtanhOp | math.CoshOp
    | math.ErfOp | math.Exp2Op | math.ExpM1Op | math.ExpOp | math.Log10Op | math.Log1pOp | math.Log2Op
    | math.LogOp | math.SinhOp | math.TanhOp
)  # fmt: skip


@dataclass(frozen=True)
class ExpandRecipe(RewritePattern):
    """
    A function of f32 as the polynomial that approximates it (approximate: 4 units in the last place).

    Where the target can, `arith.scale` multiplies by powers of two, which is otherwise done on the bits. An
    exponential with `sched.not_positive` is a shorter one, where the target has fused multiply-adds.

    ```mlir
    %y = math.exp %x : vector<16xf32>
    // ->
    %t = math.fma %clamped, %log2e, %rounder : vector<16xf32>
    …
    ```
    """

    target: TargetDescription

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: _WithRecipe, rewriter: PatternRewriter) -> None:
        if not isinstance(element_of(op.operand.type), Float32Type):
            return
        is_short = NOT_POSITIVE in op.attributes and self.target.has_fma
        recipe = elementary.exp_not_positive if is_short else _RECIPES[type(op)]
        result = recipe(lanes_of(op.operand, self.target, rewriter))
        rewriter.replace(op, [], [result.value])


class WidenHalf(RewritePattern):
    """
    Compute a function of f16 or bf16 in f32 and round the result (rounding).

    ```mlir
    %y = math.exp %x : f16
    // ->
    %w = arith.extf %x : f16 to f32
    %e = math.exp %w : f32
    %y = arith.truncf %e : f32 to f16
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Transcendental, rewriter: PatternRewriter) -> None:
        type = op.results[0].type
        if not isinstance(element_of(type), Float16Type | BFloat16Type):
            return
        wide = like(type, f32)
        operands = [arith.ExtFOp(operand, wide) for operand in op.operands]
        computed = op.create(
            operands=[o.result for o in operands], result_types=[wide], properties=op.properties
        )
        rewriter.replace(op, [*operands, computed, arith.TruncFOp(computed.results[0], type)])


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """
    Expand functions of `math` into `arith` ops and fused multiply-adds (approximate: 4 ulp, most 2).

    f16 and bf16 are computed in f32. Functions of f64, those without a recipe, and sines of very large
    numbers stay calls of the C library, on one lane after the other. Where there is none (`calls=false`),
    sines are expanded for all numbers. Extrema past NaN become comparisons.
    """

    name = "expand-math"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""
    calls: bool = True
    """Whether there is a C library to call."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        apply_patterns(
            op.body,
            [
                ExpandRecipe(target),
                WidenHalf(),
                ExpandConstantPower(),
                ExpandIntegerPower(),
                ExpandPower(target),
                ExpandPeriodic(target) if self.calls else ExpandCircular(target),
                CompareNumbers(),
                UnrollLanes(),
            ],
        )
