"""`use-rounding-ops`: numbers rounded by adding a large constant → `math.roundeven`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, FloatAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.patterns.driver.greedy import apply_patterns

_ROUNDER = 12582912.0  # 1.5 * 2^23: an f32 of this size has no fraction


@dataclass(frozen=True)
class UseRoundingOpsPass(ModulePass):
    """
    Round before the constant is added that rounds: compilers of shaders may simplify (x + c) - c to x.

    `expand-math` adds 1.5 * 2^23 to have the nearest integer in the low bits. (softmax of 4x10 on lavapipe,
    without: 0.04 off; OpenCL C and WGSL permit such changes, and no option forbids them in WGSL.)
    """

    name = "use-rounding-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite sums and multiply-adds with the constant."""
        apply_patterns(op.body, [RoundSum(), RoundProduct()])


class RoundSum(RewritePattern):
    """
    A sum with the constant. Class: exact.

    ```mlir
    %r = arith.constant 12582912.0 : f32
    %y = arith.addf %x, %r : f32
    // ->
    %r = arith.constant 12582912.0 : f32
    %n = math.roundeven %x : f32
    %y = arith.addf %n, %r : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddfOp, rewriter: PatternRewriter) -> None:
        if not _is_rounder(op.rhs) or isinstance(op.lhs.owner, math.RoundEvenOp):
            return
        rounded = math.RoundEvenOp(op.lhs)
        rewriter.replace(op, [rounded, arith.AddfOp(rounded.result, op.rhs)])


class RoundProduct(RewritePattern):
    """
    A multiply-add with the constant, as a product that is rounded first. Class: rounding.

    ```mlir
    %r = arith.constant 12582912.0 : f32
    %y = math.fma %a, %b, %r : f32
    // ->
    %r = arith.constant 12582912.0 : f32
    %p = arith.mulf %a, %b : f32
    %n = math.roundeven %p : f32
    %y = arith.addf %n, %r : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.FmaOp, rewriter: PatternRewriter) -> None:
        if not _is_rounder(op.c):
            return
        product = arith.MulfOp(op.a, op.b)
        rounded = math.RoundEvenOp(product.result)
        rewriter.replace(op, [product, rounded, arith.AddfOp(rounded.result, op.c)])


def _is_rounder(value: SSAValue) -> bool:
    """Whether a value is the constant, as f32."""
    owner = value.owner
    if not isinstance(value.type, Float32Type) or not isinstance(owner, arith.ConstantOp):
        return False
    return isinstance(owner.value, FloatAttr) and owner.value.value.data == _ROUNDER
