"""Values that the threads of a warp exchange: shuffles of NVIDIA."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, Float32Type, f32, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.llvm import nvvm
from stepwell.runtime.errors import StepwellError

_MODES: Mapping[str, str] = {"xor": "bfly", "up": "up", "down": "down", "idx": "idx"}
_LAST_LANE = 31
_WARP = 32
_ALL = -1
"""The mask of a whole warp."""


def shuffled(
    op: Operation, at: IRBuilder, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """
    The value of another lane, and whether there is one.

    Raises: StepwellError `unsupported` for values that do not have 32 bits.
    """
    if value.type not in (f32, i32):
        raise StepwellError("unsupported", op, f"a shuffle of {value.type}", help="exchange 32 bits")
    suffix = "f32p" if isinstance(value.type, Float32Type) else "i32p"
    # The segments of `width` lanes in bits 8 to 12, and the last lane below them.
    segment = at.value(arith.SubiOp(at.number(_WARP, i32), width))
    clamp = at.value(arith.ShLIOp(segment, at.number(8, i32)))
    if mode != "up":
        clamp = at.value(arith.OrIOp(clamp, at.number(_LAST_LANE, i32)))
    both = llvm.LLVMStructType.from_type_list([value.type, i1])
    name = f"{nvvm.SHUFFLE}{_MODES[mode]}.{suffix}"
    pair = at.value(llvm.CallIntrinsicOp(name, [at.number(_ALL, i32), value, offset, clamp], [both]))
    first, second = (
        at.value(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [position]), pair, type))
        for position, type in ((0, value.type), (1, i1))
    )
    return first, second
