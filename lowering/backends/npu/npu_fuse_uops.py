"""`npu-fuse-uops`: neighbouring instructions with equal loops become one with all their micro-ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects import npu
from stepwell.dialects.npu.compute import dense
from stepwell.lowering.backends.npu.accesses import accesses
from stepwell.lowering.backends.npu.program_pass import ProgramPass
from stepwell.passes.context import count

Looped = npu.GemmOp | npu.AluOp


@dataclass(frozen=True)
class NpuFuseUopsPass(ProgramPass):
    """
    Merge products, zeros and elementwise operations that follow each other with equal loops.

    ```mlir
    %g = npu.gemm uops [(0, 0, 0)] loops [7, 7] dst [7, 1] src [9, 1] wgt [0, 0]
    %h = npu.gemm uops [(49, 0, 9)] loops [7, 7] dst [7, 1] src [9, 1] wgt [0, 0]
    // ->
    %h = npu.gemm uops [(0, 0, 0), (49, 0, 9)] loops [7, 7] dst [7, 1] src [9, 1] wgt [0, 0]
    ```
    An instruction runs all its micro-ops in each iteration, so their order changes. Sums and zeros are the
    same in any order; elementwise operations are merged if neither writes elements that the other accesses.
    The merged instruction waits for everything that each of them waited for. Class: exact.
    """

    name = "npu-fuse-uops"

    def apply_to_program(self, program: npu.ProgramOp) -> None:
        fuse_uops(program)


def fuse_uops(program: npu.ProgramOp) -> None:
    """Merge the instructions of a program."""
    run = _Run(program)
    for op in program.instructions:
        if not isinstance(op, Looped) or not run.takes(op):
            _merge(run.ops)
            run = _Run(program)
        if isinstance(op, Looped):
            run.add(op)


class _Run:
    """Instructions to merge, and the sums accessed by them."""

    def __init__(self, program: npu.ProgramOp):
        self.ops: list[Looped] = []
        self._read, self._written = (np.zeros(program.sizes().acc, bool) for _ in range(2))

    def takes(self, op: Looped) -> bool:
        """Whether another instruction can be merged with all of the run."""
        if not self.ops or not _alike(self.ops[0], op):
            return False
        if isinstance(op, npu.GemmOp):
            return True
        for each in accesses(op):
            written, read = self._written[each.elements], self._read[each.elements]
            if written.any() or (each.writes and read.any()):
                return False
        return True

    def add(self, op: Looped) -> None:
        """Add an instruction."""
        self.ops.append(op)
        for each in accesses(op) if isinstance(op, npu.AluOp) else ():
            (self._written if each.writes else self._read)[each.elements] = True


def _alike(first: Looped, second: Looped) -> bool:
    """Whether two instructions differ by micro-ops and waits alone, and have no tokens yet."""
    others = [{k: v for k, v in op.properties.items() if k != "uops"} for op in (first, second)]
    return (
        type(first) is type(second)
        and others[0] == others[1]
        and first.attributes == second.attributes
        and first.tokens is None
    )


def _merge(run: Sequence[Looped]) -> None:
    """Put the micro-ops of some instructions into the last of them."""
    if len(run) < 2:
        return
    waits: list[SSAValue] = []
    for op in run:
        waits += [value for value in op.after if value.owner not in run and value not in waits]
    last = run[-1]
    last.uops = dense(np.concatenate([op.table() for op in run]))
    last.operands = waits
    for op in run[:-1]:
        op.token.replace_all_uses_with(last.token)
        op.detach()
        op.erase()
    for user in {use.operation for use in last.token.uses}:
        user.operands = list(dict.fromkeys(user.operands))
    count("merged", len(run) - 1)
