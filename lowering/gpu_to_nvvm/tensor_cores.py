"""Products of small matrices by tensor cores, as intrinsics of NVIDIA."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, f32, i32, i64
from xdsl.ir import SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import TF32
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.llvm import nvvm

_NAMES: Mapping[str, str] = {TF32: "m16n8k8.row.col.tf32"}


def rounded_to_tf32(op: gpu.ToTf32Op, at: IRBuilder) -> list[SSAValue]:
    """A number with the digits of tensor cores."""
    bits = at.value(llvm.CallIntrinsicOp(nvvm.TO_TF32, [op.value], [i32]))
    return [at.value(arith.BitcastOp(bits, f32))]


def multiplied(op: gpu.MmaSyncOp, at: IRBuilder) -> list[SSAValue]:
    """The thread's elements of a product: those of TF32 are passed as bits."""
    factors = [at.value(arith.BitcastOp(value, i32)) for value in (*op.a, *op.b)]
    result = llvm.LLVMStructType.from_type_list([f32] * len(op.c))
    name = nvvm.MMA + _NAMES[op.shape.data]
    all_of = at.value(llvm.CallIntrinsicOp(name, [*factors, *op.c], [result]))
    return [
        at.value(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [position]), all_of, f32))
        for position in range(len(op.c))
    ]
