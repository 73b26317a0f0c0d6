"""
`arith.dot_*`, `pack_bfloats`, `pair_bfloats` → the target's instructions, or exact products and integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, VectorType, bf16, f32, i8, i16, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects.arith import (
    DotBfloatsOp,
    DotBytesOp,
    DotPairsOp,
    DotShortsOp,
    PackBfloatsOp,
    PairBfloatsOp,
)
from stepwell.dialects.llvm.instructions import PoisonOp
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.half import like, narrowed, splat
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern
from stepwell.lowering.loops_to_llvm.state import I32
from stepwell.lowering.loops_to_llvm.vectors import lane_count
from stepwell.runtime.machine.target import TargetDescription

_EVEN_BYTES = 0x00FF00FF
_UPPER_HALF = -0x10000

_Intrinsics: TypeAlias = Callable[[TargetDescription, int], str | None]
_Dot: TypeAlias = Callable[[Code, str, SSAValue, SSAValue, SSAValue], SSAValue]


def byte_dot(target: TargetDescription, lanes: int) -> str | None:
    """The intrinsic that adds four byte products in each of `lanes` lanes; None if the target has none."""
    features = target.features
    if "avx512vnni" in features and (lanes == 16 or (lanes in (4, 8) and "avx512vl" in features)):
        return f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    if "avxvnni" in features and lanes in (4, 8):
        return f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"  # the same intrinsic, in the shorter encoding
    return None


def short_dot(target: TargetDescription, lanes: int) -> str | None:
    """The intrinsic that adds two products of 16-bit integers in each lane: exact, as no sum exceeds i32."""
    if target.arch != "x86_64":
        return None
    if lanes == 16 and "avx512bw" in target.features:
        return "llvm.x86.avx512.pmaddw.d.512"
    if lanes == 8 and "avx2" in target.features:
        return "llvm.x86.avx2.pmadd.wd"
    return "llvm.x86.sse2.pmadd.wd" if lanes == 4 else None


def pair_dot(target: TargetDescription, lanes: int) -> str | None:
    """The intrinsic that adds two byte products in each 16-bit half of `lanes` lanes, saturating."""
    if target.arch != "x86_64":
        return None
    if lanes == 16 and "avx512bw" in target.features:
        return "llvm.x86.avx512.pmaddubs.w.512"
    if lanes == 8 and "avx2" in target.features:
        return "llvm.x86.avx2.pmadd.ub.sw"
    return "llvm.x86.ssse3.pmadd.ub.sw.128" if lanes == 4 and "ssse3" in target.features else None


class DotBytesLowering(LoopsToLLVMPattern):
    """
    `arith.dot_bytes` as a single instruction with VNNI.

    Elsewhere on x86 bytes become 16 bits, even and odd bytes apart, since the instruction that multiplies
    bytes and adds pairs of products saturates.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotBytesOp, rewriter: PatternRewriter) -> None:
        """
        Use the byte intrinsic, else the one for 16-bit pairs, else shifts and multiplications for each byte.
        """
        code, target = self.code_at(op), self.state.target
        dots: Sequence[tuple[_Intrinsics, _Dot]] = ((byte_dot, _by_bytes), (short_dot, _by_pairs))
        for intrinsics, dot in dots:
            if (result := _by_intrinsic(code, op, target, intrinsics, dot)) is not None:
                break
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
        """Use the intrinsic for 16-bit pairs, else multiply the upper and lower halves."""
        code, type = self.code_at(op), op.acc.type
        if (total := _by_intrinsic(code, op, self.state.target, short_dot, _by_shorts)) is None:
            total, half = op.acc, splat(code, 16, type)
            for shift in (llvm.ShlOp, None):
                factors = [code.make(shift, [x, half]) if shift is not None else x for x in (op.lhs, op.rhs)]
                product = code.make(llvm.MulOp, [code.make(llvm.AShrOp, [x, half]) for x in factors])
                total = code.make(llvm.AddOp, [total, product])
        rewriter.replace(op, code.ops, [total])


class DotPairsLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %r = arith.dot_pairs %a, %b, %acc : vector<8xi32>
    // ->
    %u = llvm.bitcast %a : vector<8xi32> to vector<32xi8>
    %s = llvm.bitcast %b : vector<8xi32> to vector<32xi8>
    %p = llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"(%u, %s) …
    %t = llvm.add %acc16, %p : vector<16xi16>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotPairsOp, rewriter: PatternRewriter) -> None:
        """Use the intrinsic for pairs of bytes, else multiply the even and the odd bytes in 16 bits."""
        code, type = self.code_at(op), op.acc.type
        halves = VectorType(i16, [2 * lane_count(type)])
        total = code.make(llvm.BitcastOp, [op.acc], halves)
        if (name := pair_dot(self.state.target, lane_count(type))) is not None:
            bytes = VectorType(i8, [4 * lane_count(type)])
            operands = [code.make(llvm.BitcastOp, [x], bytes) for x in (op.lhs, op.rhs)]
            total = code.make(llvm.AddOp, [total, call_intrinsic(code, name, operands, halves)])
        else:
            eight = splat(code, 8, halves)
            a, b = (code.make(llvm.BitcastOp, [x], halves) for x in (op.lhs, op.rhs))
            low = code.make(llvm.LShrOp, [code.make(llvm.ShlOp, [a, eight]), eight])
            signed = code.make(llvm.AShrOp, [code.make(llvm.ShlOp, [b, eight]), eight])
            high = code.make(llvm.LShrOp, [a, eight]), code.make(llvm.AShrOp, [b, eight])
            for factors in ([low, signed], [*high]):
                total = code.make(llvm.AddOp, [total, code.make(llvm.MulOp, factors)])
        rewriter.replace(op, code.ops, [code.make(llvm.BitcastOp, [total], type)])


class DotBfloatsLowering(LoopsToLLVMPattern):
    """
    `arith.dot_bfloats` as a single instruction with AVX512-BF16, else as exact f32 products of both halves.

    ```mlir
    %r = arith.dot_bfloats %a, %b, %acc : vector<16xi32>, vector<16xf32>
    // ->
    %x = llvm.bitcast %a : vector<16xi32> to vector<32xbf16>
    %y = llvm.bitcast %b : vector<16xi32> to vector<32xbf16>
    %r = llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%acc, %x, %y) …
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DotBfloatsOp, rewriter: PatternRewriter) -> None:
        """Use the intrinsic for vectors it supports, else shift each half into an f32."""
        code, packed, type = self.code_at(op), op.lhs.type, op.acc.type
        lanes = 1 if packed == i32 else lane_count(packed)
        features = self.state.target.features
        if "avx512bf16" in features and (lanes == 16 or (lanes in (4, 8) and "avx512vl" in features)):
            pairs = [code.make(llvm.BitcastOp, [x], VectorType(bf16, [2 * lanes])) for x in (op.lhs, op.rhs)]
            name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
            total = call_intrinsic(code, name, [op.acc, *pairs], type)
        else:
            upper, total = splat(code, _UPPER_HALF, packed), op.acc
            low = [code.make(llvm.ShlOp, [x, splat(code, 16, packed)]) for x in (op.lhs, op.rhs)]
            high = [code.make(llvm.AndOp, [x, upper]) for x in (op.lhs, op.rhs)]
            for halves in (high, low):
                factors = [code.make(llvm.BitcastOp, [x], like(packed, f32)) for x in halves]
                total = code.make(llvm.FAddOp, [total, code.make(llvm.FMulOp, factors)])
        rewriter.replace(op, code.ops, [total])


class PackBfloatsLowering(LoopsToLLVMPattern):
    """
    `arith.pack_bfloats` as a single instruction with AVX512-BF16, else by integer arithmetic.

    ```mlir
    %r = arith.pack_bfloats %v : vector<16xf32> -> vector<8xi32>
    // ->
    %x = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%v) … -> vector<16xbf16>
    %r = llvm.bitcast %x : vector<16xbf16> to vector<8xi32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PackBfloatsOp, rewriter: PatternRewriter) -> None:
        """Use the intrinsic for vectors it supports, else round as a cast to bf16 does."""
        code, lanes = self.code_at(op), lane_count(op.value.type)
        features, type = self.state.target.features, VectorType(bf16, [lanes])
        if "avx512bf16" in features and (lanes == 16 or (lanes == 8 and "avx512vl" in features)):
            name = f"llvm.x86.avx512bf16.cvtneps2bf16.{32 * lanes}"
            rounded = call_intrinsic(code, name, [op.value], type)
        else:
            rounded = narrowed(code, op.value, type)
        rewriter.replace(op, code.ops, [code.make(llvm.BitcastOp, [rounded], op.result.type)])


class PairBfloatsLowering(LoopsToLLVMPattern):
    """
    `arith.pair_bfloats` as a conversion of both vectors and a shuffle with AVX512-BF16, else by integers.

    ```mlir
    %r = arith.pair_bfloats %a, %b : vector<16xf32> -> vector<16xi32>
    // ->
    %x = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%b, %a) … -> vector<32xbf16>
    %s = llvm.bitcast %x : vector<32xbf16> to vector<32xi16>
    %t = llvm.shufflevector %s, %s [0, 16, 1, 17, …] : vector<32xi16>
    %r = llvm.bitcast %t : vector<32xi16> to vector<16xi32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PairBfloatsOp, rewriter: PatternRewriter) -> None:
        """Use the intrinsic for vectors it supports, else round as a cast to bf16 does."""
        code, packed = self.code_at(op), op.result.type
        lanes, features = 1 if packed == i32 else lane_count(packed), self.state.target.features
        if "avx512bf16" in features and (lanes == 16 or (lanes in (4, 8) and "avx512vl" in features)):
            name = f"llvm.x86.avx512bf16.cvtne2ps2bf16.{32 * lanes}"
            both = call_intrinsic(code, name, [op.high, op.low], VectorType(bf16, [2 * lanes]))
            bits = code.make(llvm.BitcastOp, [both], VectorType(i16, [2 * lanes]))
            order = [lanes * (i % 2) + i // 2 for i in range(2 * lanes)]
            mask = DenseArrayBase.from_list(I32, order)
            moved = code.make(llvm.ShuffleVectorOp, [bits, bits], bits.type, {"mask": mask})
            result = code.make(llvm.BitcastOp, [moved], packed)
        else:
            halves = [narrowed(code, x, like(packed, bf16)) for x in (op.low, op.high)]
            bits = [code.make(llvm.BitcastOp, [x], like(packed, i16)) for x in halves]
            low, high = (code.make(llvm.ZExtOp, [x], packed) for x in bits)
            raised = code.make(llvm.ShlOp, [high, splat(code, 16, packed)])
            result = code.make(llvm.OrOp, [raised, low])
        rewriter.replace(op, code.ops, [result])


def call_intrinsic(code: Code, name: str, operands: list[SSAValue], result: Attribute) -> SSAValue:
    """The result of a call of an intrinsic by its name."""
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
    return code.value(op)


def _by_intrinsic(
    code: Code, op: DotBytesOp | DotShortsOp, target: TargetDescription, intrinsics: _Intrinsics, dot: _Dot
) -> SSAValue | None:
    """
    A dot product in the shortest vectors with an intrinsic that have enough lanes; None for a scalar.

    The last lanes of a longer vector are not used.
    """
    lanes = 1 if op.acc.type == i32 else lane_count(op.acc.type)
    for wide in (4, 8, 16):
        if wide >= lanes > 1 and (name := intrinsics(target, wide)) is not None:
            acc, lhs, rhs = (_first_lanes(code, x, wide) for x in (op.acc, op.lhs, op.rhs))
            return _first_lanes(code, dot(code, name, acc, lhs, rhs), lanes)
    return None


def _first_lanes(code: Code, value: SSAValue, lanes: int) -> SSAValue:
    """The first `lanes` lanes of a vector, followed by undefined ones where it has fewer."""
    own = lane_count(value.type)
    if own == lanes:
        return value
    poison = code.make(PoisonOp, [], value.type)
    mask = DenseArrayBase.from_list(I32, [min(i, own) for i in range(lanes)])
    return code.make(llvm.ShuffleVectorOp, [value, poison], VectorType(i32, [lanes]), {"mask": mask})


def _by_bytes(code: Code, name: str, acc: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The dot product by an intrinsic that takes unsigned and signed bytes."""
    bytes = VectorType(i8, [4 * lane_count(acc.type)])
    unsigned, signed = (code.make(llvm.BitcastOp, [x], bytes) for x in (lhs, rhs))
    return call_intrinsic(code, name, [acc, unsigned, signed], acc.type)


def _by_shorts(code: Code, name: str, acc: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The dot product by an intrinsic that takes pairs of 16-bit integers, plus the accumulator."""
    pairs = VectorType(i16, [2 * lane_count(acc.type)])
    halves = [code.make(llvm.BitcastOp, [x], pairs) for x in (lhs, rhs)]
    return code.make(llvm.AddOp, [acc, call_intrinsic(code, name, halves, acc.type)])


def _by_pairs(code: Code, name: str, acc: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The byte dot product as two of 16-bit pairs: bytes 0 and 2 of each lane, then bytes 1 and 3."""
    pairs = VectorType(i16, [2 * lane_count(acc.type)])
    even, eight = splat(code, _EVEN_BYTES, lhs.type), splat(code, 8, pairs)
    low = code.make(llvm.AndOp, [lhs, even])
    high = code.make(llvm.AndOp, [code.make(llvm.LShrOp, [lhs, splat(code, 8, lhs.type)]), even])
    signed = code.make(llvm.BitcastOp, [rhs], pairs)
    factors = (
        (low, code.make(llvm.AShrOp, [code.make(llvm.ShlOp, [signed, eight]), eight])),
        (high, code.make(llvm.AShrOp, [signed, eight])),
    )
    for bytes, others in factors:
        product = call_intrinsic(code, name, [code.make(llvm.BitcastOp, [bytes], pairs), others], acc.type)
        acc = code.make(llvm.AddOp, [acc, product])
    return acc


def _byte_by_byte(code: Code, op: DotBytesOp) -> SSAValue:
    """The byte dot product as four products of shifted and masked 32-bit lanes."""
    type, total = op.acc.type, op.acc
    for byte in range(4):
        shifted = code.make(llvm.LShrOp, [op.lhs, splat(code, 8 * byte, type)])
        unsigned = code.make(llvm.AndOp, [shifted, splat(code, 255, type)])
        raised = code.make(llvm.ShlOp, [op.rhs, splat(code, 24 - 8 * byte, type)])
        signed = code.make(llvm.AShrOp, [raised, splat(code, 24, type)])
        total = code.make(llvm.AddOp, [total, code.make(llvm.MulOp, [unsigned, signed])])
    return total
