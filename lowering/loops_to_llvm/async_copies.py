"""Copies to memory of a block of a GPU of NVIDIA, beside its threads."""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr, i32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import gpu
from stepwell.dialects.llvm import nvvm
from stepwell.dialects.llvm.device import GLOBAL, SHARED
from stepwell.dialects.llvm.instructions import AddrSpaceCastOp, SelectOp
from stepwell.dialects.types import element_bytes
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.pattern import LoopsToLLVMPattern

_WIDEST = 16


class AsyncCopyLowering(LoopsToLLVMPattern):
    """
    ```mlir
    gpu.async_copy %x[%i] to %s[%t] : memref<64xf32> to memref<8xf32, #gpu.address_space<workgroup>>
    // ->
    %p = llvm.addrspacecast %address_of_s : !llvm.ptr to !llvm.ptr<3>
    %q = llvm.addrspacecast %address_of_x : !llvm.ptr to !llvm.ptr<1>
    llvm.call_intrinsic "llvm.nvvm.cp.async.ca.shared.global.4"(%p, %q) : (!llvm.ptr<3>, !llvm.ptr<1>) -> ()
    ```
    With a condition the last argument is the number of bytes that are read, 4 or 0; the rest becomes 0.
    16 bytes do not pass through the first cache (`cg`).
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: gpu.AsyncCopyOp, rewriter: PatternRewriter) -> None:
        """Call the intrinsic with both addresses in their spaces."""
        code = self.code_at(op)
        arguments = [
            self._pointer(code, op, op.target, [*op.target_indices], SHARED),
            self._pointer(code, op, op.source, [*op.source_indices], GLOBAL),
        ]
        size = op.count * element_bytes(self.state.layout(op.source, op).element)
        name = f"{nvvm.COPY_PAST_CACHE if size == _WIDEST else nvvm.COPY_ASYNC}{size}"
        if op.exists is not None:
            name += ".s"
            whole, none = code.integer(size, i32), code.integer(0, i32)
            arguments.append(code.make(SelectOp, [op.exists, whole, none], i32))
        code.insert(llvm.CallIntrinsicOp(name, arguments, []))
        rewriter.replace(op, code.ops, [])

    def _pointer(
        self, code: Code, op: gpu.AsyncCopyOp, buffer: SSAValue, indices: list[SSAValue], space: int
    ) -> SSAValue:
        """The address of an element in a space of a device."""
        pointer, _ = code.address(buffer, indices, self.state.layout(buffer, op))
        return code.make(AddrSpaceCastOp, [pointer], llvm.LLVMPointerType(IntAttr(space)))
