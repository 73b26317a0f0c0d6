"""
From loops on buffers (level 3) to the `emitc` dialect, a program in C: each file converts one family of ops.

Loops stay loops. A memref becomes a pointer; its sizes and strides are known to the compiler alone
(`Layout`), so every access is a subscript of a pointer with arithmetic on indices. Integer arithmetic is on
unsigned types, whose overflow C defines; functions without an operator in C are calls of helpers (`emit_c`).
"""

from stepwell.lowering.loops_to_emitc.convert import ConvertLoopsToEmitcPass
from stepwell.lowering.loops_to_emitc.functions import COMMENT, MAIN_FUNCTION

__all__ = ["COMMENT", "MAIN_FUNCTION", "ConvertLoopsToEmitcPass"]
