"""`encode-npu`: programs of the accelerator → bytes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.program_file import encoded
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class EncodeNpuPass(Pass):
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

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in list(op.walk()):
            if isinstance(program, npu.ProgramOp):
                Rewriter.replace_op(program, npu.BinaryOp.of(encoded(program)), [])
