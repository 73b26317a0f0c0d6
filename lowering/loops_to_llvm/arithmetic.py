"""
`arith` → `llvm`: one instruction for each op, except constants, rounding divisions and conversions to bf16.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    f32,
    f64,
)
from xdsl.dialects.utils import FastMathAttrBase, FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm import instructions, intrinsics
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import (
    element_of_lane,
    is_soft,
    lane_bits,
    narrowed,
    wide_type,
    widened,
)
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.saturation import saturated
from stepwell.lowering.loops_to_llvm.state import bit_width, converted_type, memory_type
from stepwell.runtime.errors import StepwellError

_NO_FAST_MATH = llvm.FastMathAttr(None)
_EITHER_ZERO = llvm.FastMathAttr([FastMathFlag.NO_SIGNED_ZEROS])

# Ops that are one op of the llvm dialect with the same operands.
INTEGER_OPS: dict[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MuliOp: llvm.MulOp,
    arith.DivUIOp: llvm.UDivOp,
    arith.DivSIOp: llvm.SDivOp,
    arith.RemUIOp: llvm.URemOp,
    arith.RemSIOp: llvm.SRemOp,
    arith.AndIOp: llvm.AndOp,
    arith.OrIOp: llvm.OrOp,
    arith.XOrIOp: llvm.XOrOp,
    arith.ShLIOp: llvm.ShlOp,
    arith.ShRUIOp: llvm.LShrOp,
    arith.ShRSIOp: llvm.AShrOp,
    arith.MinUIOp: intrinsics.UMinOp,
    arith.MaxUIOp: intrinsics.UMaxOp,
    arith.MinSIOp: intrinsics.SMinOp,
    arith.MaxSIOp: intrinsics.SMaxOp,
}
FLOAT_OPS: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: llvm.FAddOp,
    arith.SubfOp: llvm.FSubOp,
    arith.MulfOp: llvm.FMulOp,
    arith.DivfOp: llvm.FDivOp,
    arith.NegfOp: llvm.FNegOp,
    arith.MaximumfOp: intrinsics.MaximumOp,
    arith.MinimumfOp: intrinsics.MinimumOp,
    arith.MaxnumfOp: llvm.VectorFMaxOp,
    arith.MinnumfOp: llvm.VectorFMinOp,
}
CASTS: dict[type[Operation], type[Operation]] = {
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.UIToFPOp: instructions.UIToFPOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.BitcastOp: llvm.BitcastOp,
}
SATURATING_CASTS: dict[type[Operation], type[Operation]] = {
    arith.FPToSIOp: intrinsics.FPToSISatOp,
    arith.FPToUIOp: intrinsics.FPToUISatOp,
}


def counterpart(op: Operation, table: dict[type[Operation], type[Operation]]) -> type[Operation]:
    """The op class in a table for an op, by its class or a base class; the table remembers the result."""
    if (found := table.get(type(op))) is None:
        found = table[type(op)] = next(table[base] for base in type(op).__mro__ if base in table)
    return found


def fast_math(op: Operation) -> llvm.FastMathAttr:
    """
    The fast-math flags of an arith or math op as the llvm dialect has them.

    A maximum or minimum of two zeros may be either, as in ONNX: to distinguish their signs would double its
    instructions.
    """
    flags = op.properties.get("fastmath")
    either_zero = isinstance(op, arith.MaximumfOp | arith.MinimumfOp)
    if isinstance(flags, FastMathAttrBase) and (flags.data or either_zero):
        return _fast_math(flags, either_zero)
    return _EITHER_ZERO if either_zero else _NO_FAST_MATH


@lru_cache(maxsize=256)
def _fast_math(flags: FastMathAttrBase, either_zero: bool) -> llvm.FastMathAttr:
    """Flags in the llvm dialect, which takes as long to make and verify as the op itself."""
    return llvm.FastMathAttr([*flags.data, *([FastMathFlag.NO_SIGNED_ZEROS] if either_zero else [])])


def replace_in_wide_type(
    op: Operation,
    table: dict[type[Operation], type[Operation]],
    pattern: LoopsToLLVMPattern,
    rewriter: PatternRewriter,
) -> None:
    """Replace a float op by a table's op for LLVM, in f32 where the target lacks the type."""
    type, new_class = op.operands[0].type, counterpart(op, table)
    properties = {"fastmathFlags": fast_math(op)}
    if not is_soft(type, pattern.state.target):
        pattern.become(op, new_class, rewriter, properties)
        return
    code = pattern.code_at(op)
    operands = [widened(code, operand) for operand in op.operands]
    result = code.make(new_class, operands, properties=properties)
    rewriter.replace(op, code.ops, [narrowed(code, result, type)])


class IntegerOpLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.addi %a, %b : index
    // ->
    %r = llvm.add %a, %b : i64
    ```
    """

    takes = tuple(INTEGER_OPS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace a binary integer op by the llvm op in `INTEGER_OPS`."""
        self.become(op, counterpart(op, INTEGER_OPS), rewriter)


class FloatOpLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.mulf %a, %b fastmath<contract> : vector<16xf32>
    // ->
    %r = llvm.fmul %a, %b {fastmathFlags = #llvm.fastmath<contract>} : vector<16xf32>
    ```
    """

    takes = tuple(FLOAT_OPS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """
        Replace a float op by the llvm op in `FLOAT_OPS`, computed in f32 where the target lacks the type.
        """
        replace_in_wide_type(op, FLOAT_OPS, self, rewriter)


class RoundingDivisionLowering(LoopsToLLVMPattern):
    """
    Divisions that round down or up; by a power of two, down, they are one shift.

    ```mlir
    %r = arith.floordivsi %a, %c16 : index
    // ->
    %r = llvm.ashr %a, %4 : i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: arith.FloorDivSIOp | arith.CeilDivSIOp | arith.CeilDivUIOp, rewriter: PatternRewriter
    ) -> None:
        """Emit the division for i64; a constant divisor may become a shift."""
        lhs, rhs = op.operands
        if bit_width(lhs.type) != 64:
            raise StepwellError(
                "unsupported", op, f"{op.name} of {lhs.type}: only index and i64 are divided so"
            )
        code = self.code_at(op)
        linear = self.state.linear(rhs)
        divisor = rhs if linear.terms else linear.constant
        if isinstance(op, arith.FloorDivSIOp):
            result = code.materialize(code.floordiv(lhs, divisor))
        elif isinstance(op, arith.CeilDivSIOp):
            result = code.materialize(code.ceildiv(lhs, divisor))
        else:
            result = _unsigned_ceildiv(code, lhs, rhs)
        rewriter.replace(op, code.ops, [result])


def _unsigned_ceildiv(code: Code, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The quotient of an unsigned division, plus 1 where a remainder is left."""
    quotient = code.make(llvm.UDivOp, [lhs, rhs])
    inexact = code.compare("ne", code.make(llvm.URemOp, [lhs, rhs]), code.integer(0))
    return code.plus(quotient, code.make(llvm.ZExtOp, [inexact], lhs.type))


class ConstantLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %c = arith.constant 4 : index
    // ->
    %c = llvm.mlir.constant(4) : i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ConstantOp, rewriter: PatternRewriter) -> None:
        """Replace a scalar or dense constant by an llvm constant; `index` becomes i64."""
        match op.value:
            case IntegerAttr(value=number) if isinstance(op.result.type, IndexType):
                code = self.code_at(op)
                result = code.integer(number.data)
                rewriter.replace(op, code.ops, [result])
                return
            case IntegerAttr() | FloatAttr() as value:
                pass
            case DenseIntOrFPElementsAttr() as value:
                if isinstance(value.get_element_type(), IndexType):
                    vector = cast("VectorType[IndexType]", converted_type(op.result.type))
                    value = DenseIntOrFPElementsAttr(vector, value.data)
            case _:
                raise StepwellError("unsupported", op, f"constant {op.value} has no machine form")
        self.become(op, llvm.ConstantOp, rewriter, {"value": value})


class CompareLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %c = arith.cmpf olt, %a, %b : vector<16xf32>
    // ->
    %c = llvm.fcmp "olt" %a, %b : vector<16xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.CmpiOp | arith.CmpfOp, rewriter: PatternRewriter) -> None:
        """Replace a comparison by `icmp` or `fcmp` with the same predicate."""
        # Both dialects number the predicates alike.
        properties: dict[str, Attribute] = {"predicate": op.predicate}
        new_class: type[Operation] = llvm.ICmpOp
        if isinstance(op, arith.CmpfOp):
            new_class, properties["fastmathFlags"] = instructions.FCmpOp, fast_math(op)
        if not is_soft(op.operands[0].type, self.state.target):
            self.become(op, new_class, rewriter, properties)
            return
        code = self.code_at(op)
        code.make(new_class, [widened(code, each) for each in op.operands], op.result.type, properties)
        rewriter.replace(op, code.ops)


class SelectLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.select %c, %a, %b : index
    // ->
    %r = llvm.select %c, %a, %b : i1, i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.SelectOp, rewriter: PatternRewriter) -> None:
        """Replace a select of scalars or vectors by llvm's, of bf16 as memory has it."""
        type, properties = op.operands[1].type, {"fastmathFlags": _NO_FAST_MATH}
        stored = memory_type(type)
        if stored == type or lane_bits(stored) != lane_bits(type):
            self.become(op, instructions.SelectOp, rewriter, properties)
            return
        code = self.code_at(op)
        pair = [code.make(llvm.BitcastOp, [each], stored) for each in op.operands[1:]]
        result = code.make(instructions.SelectOp, [op.operands[0], *pair], stored, properties)
        result = code.make(llvm.BitcastOp, [result], type)
        rewriter.replace(op, code.ops, [result])


class CastLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.sitofp %a : i32 to f32
    // ->
    %r = llvm.sitofp %a : i32 to f32
    ```
    """

    takes = tuple(CASTS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace a cast by the llvm op in `CASTS`; integers become half floats by way of f32."""
        type, target = converted_type(op.results[0].type), self.state.target
        if not isinstance(op, arith.SIToFPOp | arith.UIToFPOp) or not is_soft(type, target):
            self.become(op, counterpart(op, CASTS), rewriter)
            return
        code = self.code_at(op)
        wide = code.make(counterpart(op, CASTS), op.operands, wide_type(type, target))
        rewriter.replace(op, code.ops, [narrowed(code, wide, type)])


class FloatToIntegerLowering(LoopsToLLVMPattern):
    """
    Saturating casts, so that all results are defined: numpy leaves some open, but poison would spread.

    ```mlir
    %r = arith.fptosi %a : f32 to i8
    // ->
    %r = llvm.intr.fptosi.sat(%a) : (f32) -> i8
    ```

    Vectors are clamped and converted: LLVM has no saturating instruction for them.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.FPToSIOp | arith.FPToUIOp, rewriter: PatternRewriter) -> None:
        """Emit llvm's saturating cast for scalars, and clamp and convert vectors."""
        code, type = self.code_at(op), converted_type(op.results[0].type)
        number = widened(code, op.operands[0])
        is_vector = isinstance(op.results[0].type, VectorType)
        if isinstance(op, arith.FPToSIOp) and is_vector and element_of_lane(number.type) in (f32, f64):
            saturated(code, number, type)
        else:
            code.make(counterpart(op, SATURATING_CASTS), [number], type)
        rewriter.replace(op, code.ops)


class IndexCastLowering(LoopsToLLVMPattern):
    """
    An `index_cast` widens, narrows, or is removed, since `index` is an i64.

    ```mlir
    %r = arith.index_cast %a : i32 to index
    // ->
    %r = llvm.sext %a : i32 to i64
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.IndexCastOp, rewriter: PatternRewriter) -> None:
        """Emit a sign extension or a truncation where the widths differ."""
        source, type = op.operands[0], converted_type(op.result.type)
        have, want = lane_bits(source.type), lane_bits(type)
        if have == want:
            rewriter.replace(op, [], [source])
            return
        new_type = llvm.SExtOp if have < want else llvm.TruncOp
        rewriter.replace(op, new_type.create(operands=[source], result_types=[type]))


class FloatCastLowering(LoopsToLLVMPattern):
    """
    Conversions between float types, rounded to nearest even.

    ```mlir
    %r = arith.truncf %a : f64 to f32
    // ->
    %r = llvm.fptrunc %a : f64 to f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.ExtFOp | arith.TruncFOp, rewriter: PatternRewriter) -> None:
        """Extend or truncate between the types to compute in, and round the result to its own type."""
        code, type = self.code_at(op), converted_type(op.result.type)
        source = widened(code, op.operands[0])
        wide = wide_type(type, self.state.target)
        if lane_bits(source.type) > lane_bits(wide):
            source = code.make(llvm.FPTruncOp, [source], wide)
        elif lane_bits(source.type) < lane_bits(wide):
            source = code.make(llvm.FPExtOp, [source], wide)
        rewriter.replace(op, code.ops, [narrowed(code, source, type)])
