"""`arith.dot_bytes`, `arith.dot_shorts` → the target's instructions, or exact products of their parts."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, VectorType, i8, i16, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.arith import DotBytesOp, DotShortsOp
from stepwell.lowering.loops_to_llvm.code import Code, number_attr
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.vectors import lane_count
from stepwell.runtime.target import TargetDescription

_EVEN_BYTES = 0x00FF00FF


def byte_dot(target: TargetDescription, lanes: int) -> str | None:
    """The intrinsic that adds four byte products in each of so many lanes; None where there is none."""
    features = target.features
    if "avx512vnni" in features and (lanes == 16 or (lanes in (4, 8) and "avx512vl" in features)):
        return f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    if "avxvnni" in features and lanes in (4, 8):
        return f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"  # the same intrinsic, in the shorter encoding
    return None


def short_dot(target: TargetDescription, lanes: int) -> str | None:
    """The intrinsic that adds two products of 16 bits in each lane: exact, as no sum exceeds i32."""
    if target.arch != "x86_64":
        return None
    if lanes == 16 and "avx512bw" in target.features:
        return "llvm.x86.avx512.pmaddw.d.512"
    if lanes == 8 and "avx2" in target.features:
        return "llvm.x86.avx2.pmadd.wd"
    return "llvm.x86.sse2.pmadd.wd" if lanes == 4 else None


class DotBytesLowering(LoopsToLLVMPattern):
    """
    One instruction with VNNI. Elsewhere on x86 bytes become 16 bits, even and odd ones apart, since the
    instruction that multiplies bytes and adds pairs of products saturates.

    ```mlir
    %r = arith.dot_bytes %a, %b, %acc : vector<16xi32>
    // ->
    %u = llvm.bitcast %a : vector<16xi32> to vector<64xi8>
    %s = llvm.bitcast %b : vector<16xi32> to vector<64xi8>
    %r = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%acc, %u, %s) …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotBytesOp, rewriter: PatternRewriter) -> None:
        code, target = self.code_at(op), self.state.target
        type: Attribute = op.acc.type
        lanes = 1 if type == i32 else lane_count(type)
        if (name := byte_dot(target, lanes)) is not None:
            bytes = VectorType(i8, [4 * lanes])
            unsigned, signed = (code.make(llvm.BitcastOp, [x], bytes) for x in (op.lhs, op.rhs))
            result = call_intrinsic(code, name, [op.acc, unsigned, signed], type)
        elif (name := short_dot(target, lanes)) is not None:
            result = _by_pairs(code, op, name, VectorType(i16, [2 * lanes]))
        else:
            result = _byte_by_byte(code, op)
        rewriter.replace(op, code.ops, [result])


class DotShortsLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.dot_shorts %a, %b, %acc : vector<8xi32>
    // ->
    %u = llvm.bitcast %a : vector<8xi32> to vector<16xi16>
    %s = llvm.bitcast %b : vector<8xi32> to vector<16xi16>
    %p = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%u, %s) …
    %r = llvm.add %acc, %p : vector<8xi32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotShortsOp, rewriter: PatternRewriter) -> None:
        code, type = self.code_at(op), op.acc.type
        lanes = 1 if type == i32 else lane_count(type)
        if (name := short_dot(self.state.target, lanes)) is not None:
            pairs = VectorType(i16, [2 * lanes])
            halves = [code.make(llvm.BitcastOp, [x], pairs) for x in (op.lhs, op.rhs)]
            product = call_intrinsic(code, name, halves, type)
            total = code.make(llvm.AddOp, [op.acc, product])
        else:
            total, half = op.acc, _number(code, 16, type)
            for shift in (llvm.ShlOp, None):
                factors = [code.make(shift, [x, half]) if shift is not None else x for x in (op.lhs, op.rhs)]
                product = code.make(llvm.MulOp, [code.make(llvm.AShrOp, [x, half]) for x in factors])
                total = code.make(llvm.AddOp, [total, product])
        rewriter.replace(op, code.ops, [total])


def call_intrinsic(code: Code, name: str, operands: list[SSAValue], result: Attribute) -> SSAValue:
    op = llvm.CallIntrinsicOp.create(
        operands=operands,
        result_types=[result],
        properties={
            "intrin": StringAttr(name),
            "fastmathFlags": llvm.FastMathAttr(None),
            "op_bundle_sizes": DenseArrayBase.from_list(i32, []),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(operands), 0]),
        },
    )
    return code.add(op)


def _number(code: Code, value: int, type: Attribute) -> SSAValue:
    return code.make(llvm.ConstantOp, [], type, {"value": number_attr(value, type)})


def _by_pairs(code: Code, op: DotBytesOp, name: str, pairs: Attribute) -> SSAValue:
    """Bytes 0 and 2, then bytes 1 and 3 of each lane, as pairs of 16 bits."""
    even, eight = _number(code, _EVEN_BYTES, op.lhs.type), _number(code, 8, pairs)
    low = code.make(llvm.AndOp, [op.lhs, even])
    high = code.make(llvm.AndOp, [code.make(llvm.LShrOp, [op.lhs, _number(code, 8, op.lhs.type)]), even])
    signed = code.make(llvm.BitcastOp, [op.rhs], pairs)
    factors = (
        (low, code.make(llvm.AShrOp, [code.make(llvm.ShlOp, [signed, eight]), eight])),
        (high, code.make(llvm.AShrOp, [signed, eight])),
    )
    total = op.acc
    for bytes, others in factors:
        product = call_intrinsic(code, name, [code.make(llvm.BitcastOp, [bytes], pairs), others], op.acc.type)
        total = code.make(llvm.AddOp, [total, product])
    return total


def _byte_by_byte(code: Code, op: DotBytesOp) -> SSAValue:
    type, total = op.acc.type, op.acc
    for byte in range(4):
        shifted = code.make(llvm.LShrOp, [op.lhs, _number(code, 8 * byte, type)])
        unsigned = code.make(llvm.AndOp, [shifted, _number(code, 255, type)])
        raised = code.make(llvm.ShlOp, [op.rhs, _number(code, 24 - 8 * byte, type)])
        signed = code.make(llvm.AShrOp, [raised, _number(code, 24, type)])
        total = code.make(llvm.AddOp, [total, code.make(llvm.MulOp, [unsigned, signed])])
    return total
