"""Products of small matrices by warps: `mma`."""

from __future__ import annotations

import numpy as np

from stepwell.lowering.interpret.lanes.tensor_cores import expect_warps, multiply
from stepwell.lowering.interpret.ptx.code import Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import per_lane

_F32 = np.dtype(np.float32)
_KNOWN = ("mma", "sync", "aligned", "m16n8k8", "row", "col", "f32", "tf32", "tf32", "f32")


@makes("mma")
def make_product(code: Code, instruction: Instruction) -> Step:
    """A product of 16 x 8 by 8 x 8 numbers of TF32, added to 16 x 8 of f32. Raises: ValueError for others."""
    if instruction.parts != _KNOWN:
        raise ValueError(instruction.text)
    names = [[each.strip() for each in operand.strip("{}").split(",")] for operand in instruction.operands]
    puts = [code.put(name) for name in names[0]]
    a, b, c = ([code.get(name, _F32) for name in each] for each in names[1:])
    if (len(puts), len(a), len(b), len(c)) != (4, 4, 2, 4):
        raise ValueError(instruction.text)

    def run(frame: Frame) -> None:
        group = frame.group
        expect_warps(group, frame.mask, instruction)
        lanes = [[per_lane(get(frame), group.lanes) for get in gets] for gets in (a, b, c)]
        for put, total in zip(puts, multiply(*lanes), strict=True):
            put(frame, total)

    return run
