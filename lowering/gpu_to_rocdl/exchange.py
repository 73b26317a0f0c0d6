"""Values that the threads of a wave exchange: reads of another lane's register, by its number."""

from __future__ import annotations

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.llvm import rocdl
from stepwell.runtime.errors import StepwellError

_HALF = 32
_ALL = -1
"""The mask of 32 lanes."""
_LANE_BYTES = 4


def lane_of(at: IRBuilder, warp: int) -> SSAValue:
    """The number of the thread in its wave: the lanes below it are counted, 32 at a time."""
    low, high = rocdl.LANES_BELOW
    mask = at.number(_ALL, i32)
    below = at.value(llvm.CallIntrinsicOp(low, [mask, at.number(0, i32)], [i32]))
    return below if warp == _HALF else at.value(llvm.CallIntrinsicOp(high, [mask, below], [i32]))


def shuffled(
    op: Operation, at: IRBuilder, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue, warp: int
) -> tuple[SSAValue, SSAValue]:
    """
    The value of another lane, and whether there is one.

    Raises: StepwellError `unsupported` for values that do not have 32 bits.
    """
    if value.type not in (f32, i32):
        raise StepwellError("unsupported", op, f"a shuffle of {value.type}", help="exchange 32 bits")
    lane = lane_of(at, warp)
    # Lanes exchange values with those of their own segment of `width` lanes, a power of two.
    first = at.value(arith.AndIOp(lane, at.value(arith.SubiOp(at.number(0, i32), width))))
    other = _other_lane(at, mode, lane, first, offset)
    end = at.value(arith.AddiOp(first, width))
    is_valid = at.compare("sge", other, first) if mode == "up" else at.compare("ult", other, end)
    chosen = at.value(arith.SelectOp(is_valid, other, lane))
    place = at.value(arith.MuliOp(chosen, at.number(_LANE_BYTES, i32)))
    bits = value if value.type == i32 else at.value(arith.BitcastOp(value, i32))
    found = at.value(llvm.CallIntrinsicOp(rocdl.PERMUTE, [place, bits], [i32]))
    return (found if value.type == i32 else at.value(arith.BitcastOp(found, f32))), is_valid


def _other_lane(at: IRBuilder, mode: str, lane: SSAValue, first: SSAValue, offset: SSAValue) -> SSAValue:
    """The number of the lane whose value is read."""
    match mode:
        case "xor":
            return at.value(arith.XOrIOp(lane, offset))
        case "up":
            return at.value(arith.SubiOp(lane, offset))
        case "down":
            return at.value(arith.AddiOp(lane, offset))
        case _:
            return at.value(arith.AddiOp(first, offset))
