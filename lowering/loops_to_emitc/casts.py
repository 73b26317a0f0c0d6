"""Casts of `arith` → casts of C, and helpers where C's would be undefined: floats out of range, bits."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type, f32
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import number_attr
from stepwell.lowering.loops_to_emitc.arithmetic import (
    is_small_float,
    narrowed,
    short_name,
    unsigned,
    widened,
)
from stepwell.lowering.loops_to_emitc.pattern import I1, I64, INDEX, Code, LoopsToEmitCPattern


class ExtendLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.extui %a : i8 to i32
    // ->
    %u = emitc.cast %a : i8 to ui8
    %r = emitc.cast %u : ui8 to i32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.ExtUIOp | arith.ExtSIOp | arith.TruncIOp, rewriter: PatternRewriter
    ) -> None:
        """Cast; without sign by way of the unsigned type, and a bit that is signed is -1."""
        code, value, type = Code.before(op), op.operands[0], op.results[0].type
        if isinstance(op, arith.ExtSIOp) and value.type == I1:
            numbers = [code.value(emitc.ConstantOp(number_attr(n, type))) for n in (-1, 0)]
            result = code.value(emitc.ConditionalOp(value, *numbers))
        elif isinstance(op, arith.TruncIOp) and type == I1:
            one = code.value(emitc.ConstantOp(number_attr(1, value.type)))
            bit = code.value(expressions.BitwiseAndOp(value, one))
            zero = code.value(emitc.ConstantOp(number_attr(0, value.type)))
            result = code.value(emitc.CmpOp("ne", bit, zero))
        else:
            if isinstance(op, arith.ExtUIOp) and value.type != I1:
                value = code.cast(value, unsigned(value.type))
            result = code.cast(value, type)
        rewriter.replace(op, code.ops, [result])


class IntegerToFloatLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.sitofp %a : i32 to f32
    // ->
    %r = emitc.cast %a : i32 to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SIToFPOp | arith.UIToFPOp, rewriter: PatternRewriter) -> None:
        """Cast; numbers of 16 bits by way of f32."""
        code, value, type = Code.before(op), op.operands[0], op.results[0].type
        if isinstance(op, arith.UIToFPOp) and value.type != I1:
            value = code.cast(value, unsigned(value.type))
        wide = code.cast(value, f32 if is_small_float(type) else type)
        if isinstance(op, arith.SIToFPOp) and value.type == I1:
            wide = code.value(expressions.UnaryMinusOp(wide))
        rewriter.replace(op, code.ops, [narrowed(code, wide, type)])


class FloatToIntegerLowering(LoopsToEmitCPattern):
    """
    Casts that end at the limits of the type, with 0 for NaN: C leaves the others undefined.

    ```mlir
    %r = arith.fptosi %a : f32 to i8
    // ->
    %r = emitc.call_opaque "i8_of_f32"(%a) : (f32) -> i8
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.FPToSIOp | arith.FPToUIOp, rewriter: PatternRewriter) -> None:
        """Call the helper of both types."""
        code, type = Code.before(op), op.results[0].type
        value = widened(code, op.operands[0])
        if type == I1:
            zero = code.value(emitc.ConstantOp(number_attr(0, value.type)))
            rewriter.replace(op, code.ops, [code.value(emitc.CmpOp("ne", value, zero))])
            return
        kind = unsigned(type) if isinstance(op, arith.FPToUIOp) else type
        result = code.call(f"{short_name(kind)}_of_{short_name(value.type)}", [value], kind)
        rewriter.replace(op, code.ops, [code.cast(result, type)])


class BitcastLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.bitcast %a : f32 to i32
    // ->
    %r = emitc.call_opaque "bits_of_f32"(%a) : (f32) -> i32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.BitcastOp, rewriter: PatternRewriter) -> None:
        """Call a helper, which has a union; numbers of 16 bits are integers in C."""
        code, value, type = Code.before(op), op.operands[0], op.results[0].type
        if isinstance(value.type, Float32Type | Float64Type):
            result = code.call(f"bits_of_{short_name(value.type)}", [value], type)
        elif isinstance(type, Float32Type | Float64Type):
            result = code.call(f"{short_name(type)}_of_bits", [value], type)
        else:
            result = code.cast(value, type)
        rewriter.replace(op, code.ops, [result])


class IndexCastLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.index_cast %a : i64 to index
    // ->
    %r = emitc.call_opaque "index_of_i64"(%a) : (i64) -> index
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.IndexCastOp, rewriter: PatternRewriter) -> None:
        """Cast; an i64 beyond the range of indices is clamped, and bounds checks still refuse it."""
        code, value, type = Code.before(op), op.operands[0], op.result.type
        if value.type == I64 and type == INDEX:
            result = code.call("index_of_i64", [value], type)
        else:
            result = code.cast(value, type)
        rewriter.replace(op, code.ops, [result])


class FloatCastLowering(LoopsToEmitCPattern):
    """
    ```mlir
    %r = arith.truncf %a : f64 to f32
    // ->
    %r = emitc.cast %a : f64 to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ExtFOp | arith.TruncFOp, rewriter: PatternRewriter) -> None:
        """Cast between f32 and f64; numbers of 16 bits by way of f32."""
        code, type = Code.before(op), op.results[0].type
        value = widened(code, op.operands[0])
        wide = code.cast(value, f32 if is_small_float(type) else type)
        rewriter.replace(op, code.ops, [narrowed(code, wide, type)])
