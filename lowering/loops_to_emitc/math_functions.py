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
from stepwell.runtime.errors import StepwellError

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
    """A function that `expand-math` has not written out is refused: C files need no math library."""

    takes = (
        *(math.AcosOp, math.AcoshOp, math.AsinOp, math.AsinhOp, math.AtanOp, math.Atan2Op, math.AtanhOp),
        *(math.CbrtOp, math.CosOp, math.CoshOp, math.ErfOp, math.Exp2Op, math.ExpM1Op, math.ExpOp),
        *(math.Log10Op, math.Log1pOp, math.Log2Op, math.LogOp, math.PowFOp, math.SinOp, math.SinhOp),
        *(math.TanOp, math.TanhOp),
    )

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Raise `undefined-symbol`."""
        message = (
            f"{op.name} of {op.operands[0].type} would be a call of the C library, which C files do without"
        )
        help = "a .stepwell file runs it"
        raise StepwellError("undefined-symbol", op, message, help=help)
