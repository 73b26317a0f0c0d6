"""LLVM's intrinsics on memory as ops: masked and gathered accesses, copies, prefetches."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I1, I32, IntegerAttr, IntegerType, StringAttr, VectorType, i8
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)

_FORMAT = "`(` operands `)` attr-dict `:` functional-type(operands, results)"
_FORMAT_WITHOUT_RESULT = "`(` operands `)` attr-dict `:` type(operands)"


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """
    Load the lanes whose mask is set; the others come from `pass_thru` and their memory is not touched.

    ```mlir
    %v = llvm.intr.masked.load(%p, %m, %z) {alignment = 4 : i32}
        : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
    ```
    """

    name = "llvm.intr.masked.load"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    data = operand_def(LLVMPointerType)
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(T)
    res = result_def(T)
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FORMAT


@irdl_op_definition
class MaskedGatherOp(IRDLOperation):
    """
    Load lanes from a vector of pointers, where the mask is set.

    ```mlir
    %v = llvm.intr.masked.gather(%ps, %m, %z) {alignment = 4 : i32}
        : (vector<16x!llvm.ptr>, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
    ```
    """

    name = "llvm.intr.masked.gather"
    T: ClassVar = VarConstraint("T", VectorType.constr(AnyAttr()))
    ptrs = operand_def(VectorType.constr(LLVMPointerType))
    mask = operand_def(VectorType[I1])
    pass_thru = operand_def(T)
    res = result_def(T)
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FORMAT


@irdl_op_definition
class MaskedScatterOp(IRDLOperation):
    """
    Store lanes to a vector of pointers, where the mask is set.

    ```mlir
    llvm.intr.masked.scatter(%v, %ps, %m) {alignment = 4 : i32}
        : vector<16xf32>, vector<16x!llvm.ptr>, vector<16xi1>
    ```
    """

    name = "llvm.intr.masked.scatter"
    value = operand_def(VectorType.constr(AnyAttr()))
    ptrs = operand_def(VectorType.constr(LLVMPointerType))
    mask = operand_def(VectorType[I1])
    alignment = prop_def(IntegerAttr[I32])
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FORMAT_WITHOUT_RESULT


@irdl_op_definition
class MemcpyOp(IRDLOperation):
    """
    Copy bytes between areas that do not overlap.

    ```mlir
    llvm.intr.memcpy(%to, %from, %bytes) : !llvm.ptr, !llvm.ptr, i64
    ```
    """

    name = "llvm.intr.memcpy"
    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    len = operand_def(IntegerType)
    assembly_format = _FORMAT_WITHOUT_RESULT


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """
    Set bytes to one value.

    ```mlir
    llvm.intr.memset(%to, %byte, %bytes) : !llvm.ptr, i8, i64
    ```
    """

    name = "llvm.intr.memset"
    dst = operand_def(LLVMPointerType)
    val = operand_def(i8)
    len = operand_def(IntegerType)
    assembly_format = _FORMAT_WITHOUT_RESULT


@irdl_op_definition
class FenceOp(IRDLOperation):
    """
    An order between accesses to memory before and after it, for the threads of a scope.

    ```mlir
    llvm.fence "workgroup" "release"
    ```
    """

    name = "llvm.fence"
    scope = prop_def(StringAttr)
    ordering = prop_def(StringAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$scope $ordering attr-dict"


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    Ask for a cache line ahead of its use: `rw` 0 to read, 1 to write; `hint` 3 to keep it, 0 not to.

    ```mlir
    llvm.intr.prefetch(%p) {rw = 0 : i32, hint = 3 : i32} : !llvm.ptr
    ```
    """

    name = "llvm.intr.prefetch"
    addr = operand_def(LLVMPointerType)
    rw = prop_def(IntegerAttr)
    hint = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = _FORMAT_WITHOUT_RESULT
