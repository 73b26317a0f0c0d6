"""`add-npu-waits`: an instruction waits for conflicting accesses of other stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.accesses import Access, accesses
from stepwell.lowering.backends.npu.program_pass import ProgramPass
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import BUFFERS
from stepwell.runtime.npu.instructions import Stage


@dataclass(frozen=True)
class AddNpuWaitsPass(ProgramPass):
    """
    Replace the waits of each instruction by those for conflicting accesses of other stages.

    ```mlir
    npu.program @p(%x: memref<2x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<2x1x16xi8>
      %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0]
      %b = npu.load inp %x[1] to 0 size [1, 1] stride 1 : memref<2x1x16xi8>
      %f = npu.finish
    }
    // ->
    npu.program @p(%x: memref<2x1x16xi8>) config "pynq" {
      %a = npu.load inp %x[0] to 0 size [1, 1] stride 1 : memref<2x1x16xi8>
      %g = npu.gemm uops [(0, 0, 0)] loops [1, 1] dst [0, 0] src [0, 0] wgt [0, 0] after(%a)
      %b = npu.load inp %x[1] to 0 size [1, 1] stride 1 after(%g) : memref<2x1x16xi8>
      %f = npu.finish after(%b)
    }
    ```
    The results are those of the instructions in the order of the text, but stages run independently. So an
    instruction waits for the last conflicting instruction of each other stage: one that writes a location
    that it reads, or accesses one that it writes. The end waits for all stages; waits that an earlier
    instruction of the stage has done are left out. A program that loads an array after storing it is refused:
    no queue leads from stores to loads. Class: exact.
    """

    name = "add-npu-waits"

    def apply_to_program(self, program: npu.ProgramOp) -> None:
        add_waits(program)


def add_waits(program: npu.ProgramOp) -> None:
    """Give the instructions of a program what they wait for. Raises: StepwellError `unsupported`."""
    _expect_separate_arrays(program)
    ops = program.instructions
    last = _LastAccesses(program)
    waited = {(source, to): -1 for source in Stage for to in Stage}
    for number, op in enumerate(ops):
        latest = last.before(op) if not isinstance(op, npu.FinishOp) else last.of_stages(op.stage)
        waits: list[SSAValue] = []
        for source, other in latest.items():
            if other > waited[source, op.stage]:
                waited[source, op.stage] = other
                waits.append(ops[other].token)
        arrays = [value for value in op.operands if value not in op.after]
        op.operands = [*arrays, *waits]
        op.tokens = None
        count("waits", len(waits))
        last.note(number, op)


class _LastAccesses:
    """By stage the numbers of the last instructions that wrote and read each element of each buffer."""

    def __init__(self, program: npu.ProgramOp):
        sizes = {buffer: (len(Stage), int(getattr(program.sizes(), buffer))) for buffer in BUFFERS}
        self._written = {buffer: np.full(size, -1) for buffer, size in sizes.items()}
        self._read = {buffer: np.full(size, -1) for buffer, size in sizes.items()}
        self._stages = dict.fromkeys(Stage, -1)

    def before(self, op: npu.InstructionOp) -> dict[Stage, int]:
        """The last instruction of each other stage that an instruction must not overtake; -1: none."""
        found = dict.fromkeys((stage for stage in Stage if stage != op.stage), -1)
        for access in accesses(op):
            for stage in found:
                found[stage] = max(found[stage], self._conflict(access, stage))
        return found

    def _conflict(self, access: Access, stage: Stage) -> int:
        written = int(self._written[access.buffer][stage, access.elements].max())
        if not access.writes:
            return written
        return max(written, int(self._read[access.buffer][stage, access.elements].max()))

    def of_stages(self, but: Stage) -> dict[Stage, int]:
        """The last instruction of each stage but one."""
        return {stage: number for stage, number in self._stages.items() if stage != but}

    def note(self, number: int, op: npu.InstructionOp) -> None:
        """Note the accesses of an instruction."""
        self._stages[op.stage] = number
        for access in accesses(op):
            if access.reads:
                self._read[access.buffer][op.stage, access.elements] = number
            if access.writes:
                self._written[access.buffer][op.stage, access.elements] = number


def _expect_separate_arrays(program: npu.ProgramOp) -> None:
    """Require that no array is stored and loaded. Raises: StepwellError `unsupported`."""
    stored = {op.array: op for op in _of(program, npu.StoreOp)}
    for op in _of(program, npu.LoadOp):
        if op.array in stored:
            message = f"array {op.argument} is loaded and stored: no queue leads from stores to loads"
            raise StepwellError("unsupported", op, message, help="store into an array of its own")


def _of(program: npu.ProgramOp, kind: type[npu.LoadOp | npu.StoreOp]) -> Sequence[npu.LoadOp | npu.StoreOp]:
    return [op for op in program.instructions if isinstance(op, kind)]
