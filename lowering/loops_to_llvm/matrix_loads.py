"""Loads of matrices by a warp of a GPU of NVIDIA, for its tensor cores."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntAttr, f32, i32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import gpu
from stepwell.dialects.llvm import nvvm
from stepwell.dialects.llvm.device import SHARED
from stepwell.dialects.llvm.instructions import AddrSpaceCastOp
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern


class LdmatrixLowering(LoopsToLLVMPattern):
    """
    ```mlir
    %a, %b = gpu.ldmatrix %s[%i] : memref<64xf32, #gpu.address_space<workgroup>> -> f32, f32
    // ->
    %p = llvm.addrspacecast %address_of_s : !llvm.ptr to !llvm.ptr<3>
    %m = llvm.call_intrinsic "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3"(%p)
      : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    ```
    The elements of a row are passed as bits: the instruction has names for halves alone.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: gpu.LdmatrixOp, rewriter: PatternRewriter) -> None:
        """Call the intrinsic with the address in memory of the block."""
        code, count = self.code_at(op), len(op.parts)
        layout = self.state.layout(op.memref, op)
        generic, _ = code.address(op.memref, [*op.indices], layout)
        pointer = code.make(AddrSpaceCastOp, [generic], llvm.LLVMPointerType(IntAttr(SHARED)))
        result = i32 if count == 1 else llvm.LLVMStructType.from_type_list([i32] * count)
        call = llvm.CallIntrinsicOp(f"{nvvm.LDMATRIX}x{count}.b16.p{SHARED}", [pointer], [result])
        code.insert(call)
        bits = [call.results[0]]
        if count > 1:
            bits = [
                code.make(
                    llvm.ExtractValueOp,
                    [call.results[0]],
                    i32,
                    {"position": DenseArrayBase.from_list(i64, [number])},
                )
                for number in range(count)
            ]
        rewriter.replace(op, code.ops, [code.make(llvm.BitcastOp, [each], f32) for each in bits])
