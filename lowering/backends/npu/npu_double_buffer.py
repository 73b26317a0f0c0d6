"""`npu-double-buffer`: every second tile uses other elements of the buffers, so that loads need not wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IntegerAttr

from stepwell.dialects import npu
from stepwell.dialects.npu.compute import OPERANDS, dense
from stepwell.dialects.types import int_attr
from stepwell.lowering.backends.npu.accesses import Access, Indices, accesses
from stepwell.lowering.backends.npu.program_pass import ProgramPass
from stepwell.lowering.backends.npu.webs import Webs
from stepwell.passes.context import count, remark
from stepwell.runtime.npu.config import BUFFERS

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NpuDoubleBufferPass(ProgramPass):
    """
    Move every second of the values that follow each other in the same elements of a buffer.

    ```mlir
    npu.program @p(%x: memref<128x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[0] to 0 size [1, 64] stride 64 : memref<128x1x16xi8>
      %g = npu.gemm uops [(0, 0, 0)] loops [1, 64] dst [0, 1] src [0, 1] wgt [0, 0]
      %b = npu.load inp %x[64] to 0 size [1, 64] stride 64 : memref<128x1x16xi8>
      %h = npu.gemm uops [(0, 0, 0)] loops [1, 64] dst [0, 1] src [0, 1] wgt [0, 0]
      %f = npu.finish
    }
    // ->
    npu.program @p(%x: memref<128x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[0] to 0 size [1, 64] stride 64 : memref<128x1x16xi8>
      %g = npu.gemm uops [(0, 0, 0)] loops [1, 64] dst [0, 1] src [0, 1] wgt [0, 0]
      %b = npu.load inp %x[64] to 64 size [1, 64] stride 64 : memref<128x1x16xi8>
      %h = npu.gemm uops [(0, 64, 0)] loops [1, 64] dst [0, 1] src [0, 1] wgt [0, 0]
      %f = npu.finish
    }
    ```
    These are the two virtual threads of an accelerator: the load of the second tile need not wait for the
    products of the first, once `add-npu-waits` runs after this pass. A buffer that has no room for both
    stays as it is, with a remark. Class: exact.

    Source: latency hiding by virtual threads in VTA (Moreau et al., 2018), by renaming of live ranges.
    """

    name = "npu-double-buffer"

    def apply_to_program(self, program: npu.ProgramOp) -> None:
        double_buffer(program)


def double_buffer(program: npu.ProgramOp) -> None:
    """Rename the elements of each buffer of a program."""
    found = _accesses(program)
    for buffer in BUFFERS:
        mine = [each for each in found if each.access.buffer == buffer]
        size = int(getattr(program.sizes(), buffer))
        moved, stay = (_mask(mine, turn, size) for turn in (1, 0))
        if not moved.any():
            continue
        if (distance := _distance(moved, stay)) is None:
            remark(program, f"not in two halves: {buffer} has no room for two tiles")
            continue
        for each in mine:
            each.move(distance)
        count("buffers")


@dataclass(frozen=True)
class _Turns:
    """An access of an instruction, and whose turn each of its rows has: 0 or 1, by generation of its web."""

    op: npu.InstructionOp
    access: Access
    turns: Indices

    def move(self, distance: int) -> None:
        """Add a distance to the first elements of the rows whose turn is 1."""
        if not self.turns.any():
            return
        if self.access.operand == "sram":
            sram = cast("IntegerAttr", self.op.properties["sram"])
            self.op.properties["sram"] = int_attr(sram.value.data + distance)
            return
        looped = cast("npu.GemmOp | npu.AluOp", self.op)
        uops = looped.table().copy()
        uops[:, OPERANDS.index(self.access.operand)] += distance * self.turns
        looped.uops = dense(uops)


def _accesses(program: npu.ProgramOp) -> list[_Turns]:
    """All accesses in the order of the program."""
    webs = {buffer: Webs(int(getattr(program.sizes(), buffer))) for buffer in BUFFERS}
    noted = [
        (op, access, webs[access.buffer].note(access))
        for op in program.instructions
        for access in accesses(op)
    ]
    # The generations are known once all webs are: a later access may join two of them.
    return [
        _Turns(op, access, np.array([webs[access.buffer].generation(web) % 2 for web in found]))
        for op, access, found in noted
    ]


def _mask(found: Sequence[_Turns], turn: int, size: int) -> Mask:
    """The elements of rows that have a turn."""
    mask = np.zeros(size, bool)
    for each in found:
        mask[each.access.elements[each.turns == turn]] = True
    return mask


def _distance(moved: Mask, others: Mask) -> int | None:
    """The least distance by which elements can be moved onto free ones; None where there is none."""
    elements = np.flatnonzero(moved)
    last = int(elements[-1]) + 1
    for distance in range(last, len(moved) - last + 1):
        if not others[elements + distance].any():
            return distance
    return None
