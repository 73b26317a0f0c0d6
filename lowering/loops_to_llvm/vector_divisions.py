"""Integer division of vectors by way of floats: processors divide integers one at a time."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import VectorType, f32, f64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.llvm import instructions
from stepwell.lowering.loops_to_llvm.half import lane_bits, like
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern

_Division: TypeAlias = arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp


class VectorDivisionLowering(LoopsToLLVMPattern):
    """
    Integer divisions of vectors in f32, for up to 16 bits, or in f64, for 32 bits, with the fraction dropped.

    ```mlir
    %q = arith.divsi %a, %b : vector<16xi32>
    // ->
    %x = llvm.sitofp %a : vector<16xi32> to vector<16xf64>
    %y = llvm.sitofp %b : vector<16xi32> to vector<16xf64>
    %r = llvm.fdiv %x, %y : vector<16xf64>
    %q = llvm.fptosi %r : vector<16xf64> to vector<16xi32>
    ```
    Exact: a quotient that is not whole is at least 1 / b away from the next integer, and the float's rounding
    is less than that by the bits that it has more. A remainder is a - q b. LLVM multiplies where the divisor
    is a constant. CPUs without f64 divide integers of 32 bits.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: _Division, rewriter: PatternRewriter) -> None:
        """Convert, divide and truncate vectors of 8, 16 or 32 bits, unless the divisor is constant."""
        type = op.result.type
        is_constant = isinstance(op.rhs.owner, arith.ConstantOp | llvm.ConstantOp)
        if not isinstance(type, VectorType) or lane_bits(type) not in (8, 16, 32) or is_constant:
            return
        code = self.code_at(op)
        if not code.state.target.has_double and lane_bits(type) == 32:
            return
        floats = like(type, f64 if lane_bits(type) == 32 else f32)
        is_signed = isinstance(op, arith.DivSIOp | arith.RemSIOp)
        widen = llvm.SIToFPOp if is_signed else instructions.UIToFPOp
        narrow = instructions.FPToSIOp if is_signed else instructions.FPToUIOp
        lhs, rhs = (code.make(widen, [x], floats) for x in (op.lhs, op.rhs))
        quotient: SSAValue = code.make(narrow, [code.make(llvm.FDivOp, [lhs, rhs])], type)
        if isinstance(op, arith.RemSIOp | arith.RemUIOp):
            product = code.make(llvm.MulOp, [quotient, op.rhs])
            quotient = code.make(llvm.SubOp, [op.lhs, product])
        rewriter.replace(op, code.ops, [quotient])
