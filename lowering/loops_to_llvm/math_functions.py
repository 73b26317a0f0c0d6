"""
`math` → `llvm`: instructions where they exist, and C library functions for scalars.

Transcendental functions of f32 and of vectors are expanded before, by `expand-math`: LLVM would emit a call
for each lane.
"""

from __future__ import annotations

from xdsl.dialects import llvm, math
from xdsl.dialects.builtin import (
    BoolAttr,
    Float32Type,
    Float64Type,
    SymbolRefAttr,
    VectorType,
    f32,
    i8,
    i16,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects.arith import ScaleOp
from stepwell.dialects.ir_builder import number_attr
from stepwell.dialects.llvm import intrinsics
from stepwell.dialects.llvm.instructions import ExtractElementOp
from stepwell.lowering.loops_to_llvm.arithmetic import counterpart, fast_math, replace_in_wide_type
from stepwell.lowering.loops_to_llvm.byte_products import call_intrinsic
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import narrowed, widened
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.vectors import first_lane, lane_count
from stepwell.runtime.errors import StepwellError

_CURRENT_ROUNDING = 4  # x86's code for the rounding mode of the control register

FLOAT_OPS: dict[type[Operation], type[Operation]] = {
    math.AbsFOp: llvm.FAbsOp,
    math.CeilOp: llvm.FCeilOp,
    math.FloorOp: llvm.FFloorOp,
    math.SqrtOp: llvm.FSqrtOp,
    math.RoundEvenOp: intrinsics.RoundEvenOp,
    math.RoundOp: intrinsics.RoundOp,
    math.TruncOp: intrinsics.TruncFOp,
    math.CopySignOp: llvm.FCopySignOp,
}
INTEGER_OPS: dict[type[Operation], type[Operation]] = {
    math.AbsIOp: intrinsics.AbsOp,
    math.CountLeadingZerosOp: intrinsics.CtlzOp,
    math.CountTrailingZerosOp: intrinsics.CttzOp,
    math.CtPopOp: intrinsics.CtpopOp,
}
# Functions of the C library; those of f32 have an `f` at the end.
LIBRARY: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.Atan2Op: "atan2",
    math.AtanhOp: "atanh",
    math.CbrtOp: "cbrt",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.ExpOp: "exp",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.LogOp: "log",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
}


class FloatOpLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = math.sqrt %x : vector<16xf32>
    // ->
    %r = llvm.intr.sqrt(%x) : (vector<16xf32>) -> vector<16xf32>
    ```
    """

    takes = tuple(FLOAT_OPS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """
        Replace a float function by the intrinsic in `FLOAT_OPS`, in f32 where the target lacks the type.
        """
        replace_in_wide_type(op, FLOAT_OPS, self, rewriter)


class ScaleLowering(LoopsToLLVMPattern):
    """
    `arith.scale` as AVX-512's scalef, for scalars too; `expand-math` makes the op for such targets only.

    ```mlir
    %r = arith.scale %x, %n : vector<16xf32>
    // ->
    %r = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %n, %x, %all, %rounding) …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScaleOp, rewriter: PatternRewriter) -> None:
        """Emit the intrinsic for 4, 8 or 16 lanes; raise `unsupported` for other targets and lane counts."""
        code, type = self.code_at(op), op.value.type
        lanes = 1 if isinstance(type, Float32Type) else lane_count(type)
        if not self.state.target.scales_by_powers(lanes):
            raise StepwellError("unsupported", op, f"the target has no instruction for {op.name} of {type}")
        if lanes == 1:
            scalars = [v if v.type == f32 else _only_lane(code, v) for v in (op.value, op.exponent)]
            value, exponent = (first_lane(code, scalar, VectorType(f32, [4])) for scalar in scalars)
            result = _only_lane(code, self._scaled(code, value, exponent, 4))
            result = result if type == f32 else first_lane(code, result, type)
        else:
            result = self._scaled(code, op.value, op.exponent, lanes)
        rewriter.replace(op, code.ops, [result])

    def _scaled(self, code: Code, value: SSAValue, exponent: SSAValue, lanes: int) -> SSAValue:
        """The scalef intrinsic with a full mask; for 16 lanes also with the rounding mode."""
        operands = [value, exponent, value]
        mask = i16 if lanes == 16 else i8
        operands.append(code.make(llvm.ConstantOp, [], mask, {"value": number_attr(-1, mask)}))
        if lanes == 16:
            operands.append(
                code.make(llvm.ConstantOp, [], i32, {"value": number_attr(_CURRENT_ROUNDING, i32)})
            )
        name = f"llvm.x86.avx512.mask.scalef.ps.{32 * lanes}"
        return call_intrinsic(code, name, operands, value.type)


def _only_lane(code: Code, value: SSAValue) -> SSAValue:
    """The first lane of a vector, whose other lanes are undefined or missing."""
    return code.make(ExtractElementOp, [value, code.integer(0)], f32)


class RsqrtLowering(LoopsToLLVMPattern):
    """
    The reciprocal root as a division by a root, both exact: the fast instruction has 12 to 14 bits only.

    ```mlir
    %r = math.rsqrt %x : f32
    // ->
    %root = llvm.intr.sqrt(%x) : (f32) -> f32
    %r = llvm.fdiv %one, %root : f32
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: math.RsqrtOp, rewriter: PatternRewriter) -> None:
        """Emit the root and the division in the type to compute in."""
        code = self.code_at(op)
        properties = {"fastmathFlags": fast_math(op)}
        root = code.make(llvm.FSqrtOp, [widened(code, op.operands[0])], properties=properties)
        one = code.make(llvm.ConstantOp, [], root.type, {"value": number_attr(1.0, root.type)})
        result = code.make(llvm.FDivOp, [one, root], properties=properties)
        rewriter.replace(op, code.ops, [narrowed(code, result, op.operands[0].type)])


class IntegerOpLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = math.absi %x : i32
    // ->
    %r = llvm.intr.abs(%x) : (i32) -> i32
    ```
    """

    takes = tuple(INTEGER_OPS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """
        Replace an integer function by the intrinsic in `INTEGER_OPS`, with a result defined for all inputs.
        """
        new = counterpart(op, INTEGER_OPS)
        flag = getattr(new, "FLAG", None)
        properties = {} if flag is None else {flag: BoolAttr.from_bool(False)}
        rewriter.replace(
            op, new.create(operands=op.operands, result_types=[op.operands[0].type], properties=properties)
        )


class LibraryLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = math.exp %x : f64
    // ->
    llvm.func @exp(f64) -> f64
    %r = llvm.call @exp(%x) : (f64) -> f64
    ```
    """

    takes = tuple(LIBRARY)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the C function in `LIBRARY` for an f32 or f64 scalar; raise `unsupported` for other types."""
        element = op.operands[0].type
        if isinstance(element, VectorType) or not isinstance(element, Float32Type | Float64Type):
            raise StepwellError(
                "unsupported",
                op,
                f"{op.name} of {element} has no instruction",
                help="run expand-math first: it writes the function out",
            )
        name = LIBRARY[type(op)] + ("f" if isinstance(element, Float32Type) else "")
        self._declare(op, name, llvm.LLVMFunctionType([element] * len(op.operands), element), rewriter)
        rewriter.replace(op, llvm.CallOp(SymbolRefAttr(name), *op.operands, return_type=element))

    def _declare(
        self, op: Operation, name: str, type: llvm.LLVMFunctionType, rewriter: PatternRewriter
    ) -> None:
        """Declare a C function once for the module."""
        if name in self.state.declared:
            return
        self.state.declared.add(name)
        function, _ = self.state.function(op)
        rewriter.insert(llvm.FuncOp(name, type, llvm.LinkageAttr("external")), InsertPoint.before(function))
