"""`place-stack-in-private`: stack memory of functions in the address space of a thread."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntAttr, ModuleOp

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.llvm import rocdl
from stepwell.dialects.llvm.instructions import AddrSpaceCastOp
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class PlaceStackInPrivatePass(Pass):
    """
    Allocate stack memory in address space 5, the only one that it may have on GPUs of AMD.

    Uses get a generic pointer, of which LLVM finds out again where it points to.

    ```mlir
    %p = llvm.alloca %one x f32 : (i64) -> !llvm.ptr
    // ->
    %0 = llvm.alloca %one x f32 : (i64) -> !llvm.ptr<5>
    %p = llvm.addrspacecast %0 : !llvm.ptr<5> to !llvm.ptr
    ```
    """

    name = "place-stack-in-private"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        private = llvm.LLVMPointerType(IntAttr(rocdl.PRIVATE))
        for alloca in [each for each in op.walk() if isinstance(each, llvm.AllocaOp)]:
            if alloca.res.type == private:
                continue
            uses = list(alloca.res.uses)
            cast = AddrSpaceCastOp.create(operands=[alloca.res], result_types=[alloca.res.type])
            cast.results[0].name_hint, alloca.res.name_hint = alloca.res.name_hint, None
            for use in uses:
                use.operation.operands[use.index] = cast.results[0]
            set_type(alloca.res, private)
            IRBuilder.after(alloca).insert(cast)
