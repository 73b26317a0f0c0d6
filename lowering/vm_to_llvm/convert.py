"""`convert-vm-to-llvm`: functions of the machine become native functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.adt.data import DataOp
from stepwell.dialects.vm import ConstantOp, VmFuncOp
from stepwell.dialects.vm.program import program_of
from stepwell.lowering.vm_to_llvm.code import SHARED
from stepwell.lowering.vm_to_llvm.function import NativeFunction, thunk
from stepwell.lowering.vm_to_llvm.supported import native_problem
from stepwell.lowering.vm_to_llvm.tables import Tables
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class ConvertVmToLLVMPass(Pass):
    """
    Lower functions of registers to native functions on objects with counted references.

    ```mlir
    vm.func private @swap (1) registers 4 {
      vm.get_field r1, r0 [0]
      …
    ```
    becomes
    ```mlir
    llvm.func @f0.swap(%ctx: !llvm.ptr, %a0: !llvm.ptr, …) -> !llvm.ptr {
      %r0 = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
      llvm.store %a0, %r0 : !llvm.ptr, !llvm.ptr
      …
      %field = llvm.call @vm.field(%object, %index) : (!llvm.ptr, i64) -> !llvm.ptr
    ```
    A register is a variable with one reference to its object, released after its last use (`liveness.py`).
    The functions `@vm.…` are those of `objects.py`, which every program has. A call in tail position stays
    one, on the same stack. Segments stay; data types and constants are in tables that the runtime makes.
    Class: exact.
    """

    name = "convert-vm-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        program = program_of(op, weights_of(ctx))
        by_name = {each.sym_name.data: each for each in op.ops if isinstance(each, VmFuncOp)}
        if (problem := native_problem(program)) is not None:
            help = 'compile it with executor="vm", for the machine'
            at = by_name.get(problem.function, op)
            raise StepwellError("unsupported-op", at, f"there is no native code for {problem}", help=help)
        tables = Tables(program)
        for name, type in SHARED.items():
            op.body.block.add_op(llvm.FuncOp(name, type, llvm.LinkageAttr("external")))
        for number, function in enumerate(by_name.values()):
            Rewriter.replace_op(function, NativeFunction(number, tables).made(), [])
            count("functions converted")
        for callee, captures in tables.thunks:
            op.body.block.add_op(thunk(callee, captures, tables))
        for each in list(op.ops):
            if isinstance(each, DataOp | ConstantOp):
                Rewriter.erase_op(each)
