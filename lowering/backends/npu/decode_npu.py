"""`decode-npu`: bytes → programs of the accelerator."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import npu
from stepwell.lowering.backends.npu.program_file import program_of
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class DecodeNpuPass(Pass):
    """
    Replace the bytes of each `npu.binary` by the instructions that they encode.

    ```mlir
    npu.binary @p() config "pynq" instructions ["04000000000000000000000000000000"] uops []
    // ->
    npu.program @p() config "pynq" {
      %f = npu.finish tokens []
    }
    ```
    The instructions have their tokens; what each one waits for is no longer known by name. Encoded again,
    they are the same bytes. Class: exact.
    """

    name = "decode-npu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for binary in list(op.walk()):
            if isinstance(binary, npu.BinaryOp):
                Rewriter.replace_op(binary, program_of(binary.encoded()), [])
