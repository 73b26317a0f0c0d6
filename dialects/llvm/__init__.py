"""
The `llvm` dialect of level 4: xDSL's, with the instructions and intrinsics that it lacks.

It extends the upstream dialect in place, under the same names: here `llvm.select` and `llvm.fcmp` work on
vectors, `llvm.mlir.zero` on any type; the other ops of this folder are new.
"""

from xdsl.dialects import llvm as upstream
from xdsl.ir import Dialect

from stepwell.dialects.llvm import instructions, intrinsics, memory
from stepwell.dialects.op_classes import ops_in

_OURS = ops_in(instructions, intrinsics, memory)
_OUR_NAMES = {op.name for op in _OURS}

LLVM = Dialect(
    "llvm",
    [*(op for op in upstream.LLVM.operations if op.name not in _OUR_NAMES), *_OURS],
    list(upstream.LLVM.attributes),
)

__all__ = ["LLVM"]
