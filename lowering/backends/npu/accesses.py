"""The elements of buffers that instructions of the accelerator read and write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stepwell.dialects import npu
from stepwell.dialects.npu.compute import OPERANDS
from stepwell.runtime.npu.instructions import Tokens

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Access:
    """The elements of a buffer accessed by an operand of an instruction."""

    buffer: str
    operand: str
    """The property with the first element: `sram`; `dst`, `src` or `wgt` of micro-ops."""
    elements: Indices
    """By micro-op and iteration; copies have a single row."""
    reads: bool = False
    writes: bool = False

    @property
    def overwrites(self) -> bool:
        """Whether the elements get new values that do not depend on the old ones."""
        return self.writes and not self.reads


def accesses(op: npu.InstructionOp) -> list[Access]:
    """The accesses of an instruction."""
    match op:
        case npu.LoadOp():
            load = op.instruction(Tokens())
            return [Access(op.buffer.data, "sram", _row(load.sram, load.elements), writes=True)]
        case npu.StoreOp():
            sram, _, y, x, _ = op.numbers()
            return [Access("acc", "sram", _row(sram, y * x), reads=True)]
        case npu.GemmOp():
            dst = Access("acc", "dst", _affine(op, "dst"), reads=op.reset is None, writes=True)
            if op.reset is not None:
                return [dst]
            operands = (("inp", "src"), ("wgt", "wgt"))
            return [dst, *(Access(buffer, name, _affine(op, name), reads=True) for buffer, name in operands)]
        case npu.AluOp():
            found = [Access("acc", "dst", _affine(op, "dst"), reads=True, writes=True)]
            if op.immediate is None:
                found.append(Access("acc", "src", _affine(op, "src"), reads=True))
            if op.kind.data == "mulshift":
                found.append(Access("acc", "wgt", _affine(op, "wgt"), reads=True))
            return found
        case _:
            return []


def _row(first: int, count: int) -> Indices:
    return np.arange(first, first + count)[None]


def _affine(op: npu.GemmOp | npu.AluOp, operand: str) -> Indices:
    """The elements of an operand by micro-op and iteration."""
    outer, inner = op.pair("loops")
    factors = op.pair(operand)
    bases = op.table()[:, OPERANDS.index(operand)]
    along = factors[0] * np.arange(outer)[:, None] + factors[1] * np.arange(inner)
    return bases[:, None] + (along.reshape(1, -1) if any(factors) else np.zeros((1, 1), np.int64))
