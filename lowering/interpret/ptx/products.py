"""Products of small matrices by warps, and loads of their fragments: `mma`, `ldmatrix`."""

from __future__ import annotations

import numpy as np

from stepwell.lowering.interpret.lanes.tensor_cores import expect_warps, matrix_places, multiply
from stepwell.lowering.interpret.ptx.accesses import address_of, checked_access, spread
from stepwell.lowering.interpret.ptx.code import Code, Frame, Step, makes
from stepwell.lowering.interpret.ptx.reader import Instruction
from stepwell.lowering.interpret.ptx.values import per_lane

_F32 = np.dtype(np.float32)
_KNOWN = ("mma", "sync", "aligned", "m16n8k8", "row", "col", "f32", "tf32", "tf32", "f32")
_MATRICES = ("ldmatrix", "sync", "aligned", "m8n8")
_U32, _ROW_ELEMS = np.dtype(np.uint32), 4


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


@makes("ldmatrix")
def make_matrices(code: Code, instruction: Instruction) -> Step:
    """Matrices of eight rows of 16 bytes, whose addresses lanes have. Raises: ValueError for other forms."""
    *known, count, space, type = instruction.parts
    if tuple(known) != _MATRICES or (space, type) != ("shared", "b16") or count not in ("x1", "x2", "x4"):
        raise ValueError(instruction.text)
    puts = [code.put(each.strip()) for each in instruction.operands[0].strip("{}").split(",")]
    address = address_of(code, instruction.operands[1])
    if len(puts) != int(count[1:]):
        raise ValueError(instruction.text)
    row = checked_access("shared", instruction, _U32, _ROW_ELEMS, is_store=False)
    element = checked_access("shared", instruction, _U32, 1, is_store=False)

    def run(frame: Frame) -> None:
        group = frame.group
        expect_warps(group, frame.mask, instruction)
        lanes = per_lane(address(frame), group.lanes)
        for matrix, put in enumerate(puts):
            source, column = matrix_places(group.lanes, matrix)
            row(frame, lanes[source])
            found = element(
                frame, lanes[source] + column.astype(lanes.dtype) * lanes.dtype.type(_U32.itemsize)
            )
            put(frame, spread(frame, found, found.region.view(_U32).take(found.index(_U32.itemsize))))

    return run
