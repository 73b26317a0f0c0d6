"""`math` → helpers in C, which has no functions of its own without `math.h`."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import math, vector
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import number_attr
from stepwell.lowering.loops_to_emitc.arithmetic import find, float_call, narrowed, short_name, widened
from stepwell.lowering.loops_to_emitc.pattern import Code, LoopsToEmitCPattern

_FLOATS: dict[type[Operation], str] = {
    math.AbsFOp: "abs",
    math.CeilOp: "ceil",
    math.FloorOp: "floor",
    math.SqrtOp: "sqrt",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.TruncOp: "trunc",
    math.CopySignOp: "copysign",
}
_LIBRARY: dict[type[Operation], str] = {
    **{math.AcosOp: "acos", math.AcoshOp: "acosh", math.AsinOp: "asin", math.AsinhOp: "asinh"},
    **{math.AtanOp: "atan", math.Atan2Op: "atan2", math.AtanhOp: "atanh", math.CbrtOp: "cbrt"},
    **{math.CosOp: "cos", math.CoshOp: "cosh", math.ErfOp: "erf", math.ExpOp: "exp", math.Exp2Op: "exp2"},
    **{math.ExpM1Op: "expm1", math.LogOp: "log", math.Log10Op: "log10", math.Log1pOp: "log1p"},
    **{math.Log2Op: "log2", math.PowFOp: "pow", math.SinOp: "sin", math.SinhOp: "sinh", math.TanOp: "tan"},
    math.TanhOp: "tanh",
}
_INTEGERS: dict[type[Operation], str] = {
    math.CountLeadingZerosOp: "leading_zeros",
    math.CountTrailingZerosOp: "trailing_zeros",
    math.CtPopOp: "ones",
}


class FloatFunctionLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = math.sqrt %x : f32
    // ->
    %r = emitc.call_opaque "f32_sqrt"(%x) : (f32) -> f32
    ```
    """

    takes = tuple(_FLOATS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the helper of `_FLOATS`."""
        float_call(op, cast(str, find(op, dict(_FLOATS))), rewriter)


class RsqrtLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = math.rsqrt %x : f32
    // ->
    %root = emitc.call_opaque "f32_sqrt"(%x) : (f32) -> f32
    %r = emitc.div %one, %root : (f32, f32) -> f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.RsqrtOp, rewriter: PatternRewriter) -> None:
        """Divide by the root."""
        code, type = Code.before(op), op.operands[0].type
        value = widened(code, op.operands[0])
        root = code.call(f"{short_name(value.type)}_sqrt", [value], value.type)
        one = code.value(emitc.ConstantOp(number_attr(1.0, value.type)))
        result = code.value(expressions.DivOp(one, root))
        rewriter.replace(op, code.ops, [narrowed(code, result, type)])


class FmaLowering(LoopsToEmitCPattern):
    """
    A product and a sum, which the user's compiler may fuse (rounding).

    ```mlir
    %r = math.fma %a, %b, %c : f32
    // ->
    %p = emitc.mul %a, %b : (f32, f32) -> f32
    %r = emitc.add %p, %c : (f32, f32) -> f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.FmaOp | vector.FMAOp, rewriter: PatternRewriter) -> None:
        """Multiply and add."""
        code, type = Code.before(op), op.operands[0].type
        a, b, c = (widened(code, value) for value in op.operands)
        result = code.value(expressions.AddOp(code.value(expressions.MulOp(a, b)), c))
        rewriter.replace(op, code.ops, [narrowed(code, result, type)])


class AbsLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = math.absi %x : i32
    // ->
    %r = emitc.call_opaque "i32_abs"(%x) : (i32) -> i32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.AbsIOp, rewriter: PatternRewriter) -> None:
        """Call a helper by way of i64, in which the least number wraps."""
        code, type = Code.before(op), op.operands[0].type
        result = code.call(f"{short_name(type)}_abs", list(op.operands), type)
        rewriter.replace(op, code.ops, [result])


class IntegerFunctionLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = math.ctpop %x : i32
    // ->
    %r = emitc.call_opaque "i32_ones"(%x) : (i32) -> i32
    ```
    """

    takes = tuple(_INTEGERS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the helper of `_INTEGERS`."""
        code, type = Code.before(op), op.operands[0].type
        name = cast(str, find(op, dict(_INTEGERS)))
        rewriter.replace(op, code.ops, [code.call(f"{short_name(type)}_{name}", list(op.operands), type)])


class LibraryLowering(LoopsToEmitCPattern):
    """
    A function of `math.h` that `expand-math` has not written out; C files contain their own.

    ```mlir
    %r = math.sin %x : f64
    // ->
    %r = emitc.call_opaque "f64_sin"(%x) : (f64) -> f64
    ```
    """

    takes = tuple(_LIBRARY)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the function of `_LIBRARY`."""
        float_call(op, cast(str, find(op, dict(_LIBRARY))), rewriter)
