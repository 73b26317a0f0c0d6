"""`encode-npu`: programs of the accelerator → bytes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.rewriter import Rewriter

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.program_file import encoded
from stepwell.lowering.backends.npu.program_pass import ProgramPass


@dataclass(frozen=True)
class EncodeNpuPass(ProgramPass):
    """
    Replace each `npu.program` by its bytes.

    ```mlir
    npu.program @p() config "pynq" {
      %f = npu.finish tokens []
    }
    // ->
    npu.binary @p() config "pynq" instructions ["04000000000000000000000000000000"] uops []
    ```
    An instruction has 16 bytes. Equal lists of micro-ops are in the table once, and the first instructions
    load it. Instructions that have no tokens yet get them. Class: exact.
    """

    name = "encode-npu"

    def apply_to_program(self, program: npu.ProgramOp) -> None:
        Rewriter.replace_op(program, npu.BinaryOp.of(encoded(program)), [])
