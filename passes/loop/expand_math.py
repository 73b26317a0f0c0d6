"""The pass `expand-math`: transcendental functions written out in arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerType,
    ModuleOp,
    VectorType,
    f32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.arith import like
from stepwell.passes.graph.rules import apply_rules
from stepwell.passes.loop import elementary
from stepwell.passes.loop.integer_power import ExpandIntegerPower
from stepwell.passes.loop.lanes import Lanes, constant_attr
from stepwell.runtime.target import TargetDescription, target_from

_RECIPES: dict[type[Operation], Callable[[Lanes], Lanes]] = {
    math.ErfOp: elementary.erf,
    math.Exp2Op: elementary.exp2,
    math.ExpM1Op: elementary.expm1,
    math.ExpOp: elementary.exp,
    math.Log10Op: elementary.log10,
    math.Log1pOp: elementary.log1p,
    math.Log2Op: elementary.log2,
    math.LogOp: elementary.log,
    math.TanhOp: elementary.tanh,
}

_WithRecipe: TypeAlias = (
    math.ErfOp | math.Exp2Op | math.ExpM1Op | math.ExpOp | math.Log10Op | math.Log1pOp | math.Log2Op
    | math.LogOp | math.TanhOp
)  # fmt: skip
_Transcendental: TypeAlias = (
    _WithRecipe | math.AcosOp | math.AcoshOp | math.AsinOp | math.AsinhOp | math.AtanOp | math.Atan2Op
    | math.AtanhOp | math.CbrtOp | math.CosOp | math.CoshOp | math.PowFOp | math.SinOp | math.SinhOp
    | math.TanOp | math.IPowIOp
)  # fmt: skip


def _element(type: Attribute) -> Attribute:
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


@dataclass(frozen=True)
class ExpandRecipe(RewritePattern):
    """
    A function of f32 as the polynomial that approximates it (approximate: 2 units in the last place).

    Where the target can, `arith.scale` multiplies by powers of two, which is otherwise done on the bits.

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
        type_ = op.operand.type
        if not isinstance(_element(type_), Float32Type):
            return
        shape = type_.get_shape() if isinstance(type_, VectorType) else ()
        scales = len(shape) == 1 and self.target.scales_by_powers(shape[0])
        result = _RECIPES[type(op)](Lanes(rewriter, op.operand, scales=scales))
        rewriter.replace(op, [], [result.value])


class WidenHalf(RewritePattern):
    """
    A function of f16 or bf16 is that of f32, rounded (rounding).

    ```mlir
    %y = math.exp %x : f16
    // ->
    %w = arith.extf %x : f16 to f32
    %e = math.exp %w : f32
    %y = arith.truncf %e : f32 to f16
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: _Transcendental, rewriter: PatternRewriter) -> None:
        type = op.results[0].type
        if not isinstance(_element(type), Float16Type | BFloat16Type):
            return
        wide = like(type, f32)
        operands = [arith.ExtFOp(operand, wide) for operand in op.operands]
        computed = op.create(
            operands=[o.result for o in operands], result_types=[wide], properties=op.properties
        )
        rewriter.replace(op, [*operands, computed, arith.TruncFOp(computed.results[0], type)])


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
    """The number that a value is, in every lane."""
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


def _zero(element: Attribute) -> float:
    return 0 if isinstance(element, IntegerType) else 0.0


class UnrollLanes(RewritePattern):
    """
    A function that has no recipe, lane by lane: each is a call of the C library (exact: the same call).

    ```mlir
    %y = math.sin %x : vector<2xf32>
    // ->
    %zero = arith.constant dense<0.0> : vector<2xf32>
    %x0 = vector.extract %x[0] : f32 from vector<2xf32>
    %y0 = math.sin %x0 : f32
    %v0 = vector.insert %y0, %zero [0] : f32 into vector<2xf32>
    %x1 = vector.extract %x[1] : f32 from vector<2xf32>
    %y1 = math.sin %x1 : f32
    %y = vector.insert %y1, %v0 [1] : f32 into vector<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: _Transcendental, rewriter: PatternRewriter) -> None:
        type = op.results[0].type
        if not isinstance(type, VectorType) or type.get_num_dims() != 1:
            return
        element, lane_count = _element(op.results[0].type), type.get_shape()[0]
        zero = arith.ConstantOp.create(
            properties={"value": constant_attr(_zero(element), op.results[0].type)},
            result_types=[op.results[0].type],
        )
        rewriter.insert(zero)
        result: SSAValue = zero.results[0]
        for lane in range(lane_count):
            lanes = [vector.ExtractOp(operand, [lane], element) for operand in op.operands]
            scalar = op.create(
                operands=[x.result for x in lanes], result_types=[element], properties=op.properties
            )
            insert = vector.InsertOp(scalar.results[0], result, [lane])
            rewriter.insert([*lanes, scalar, insert])
            result = insert.result
        rewriter.replace(op, [], [result])


_PATTERNS: list[RewritePattern] = [
    WidenHalf(),
    ExpandConstantPower(),
    ExpandIntegerPower(),
    UnrollLanes(),
]


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """
    Write functions of `math` out in `arith`, with fused multiply-adds (approximate: 2 ulp).

    f16 and bf16 are computed in f32. Functions of f64, and those without a recipe, stay calls of the C
    library, on one lane after the other.
    """

    name = "expand-math"

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_from(self.mcpu) if self.mcpu else target_of(ctx)
        apply_rules(op.body, [ExpandRecipe(target), *_PATTERNS])
