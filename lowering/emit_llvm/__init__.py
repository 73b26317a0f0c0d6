"""LLVM IR text from the `llvm` dialect: complete and faithful, and what it cannot express is an error."""

from stepwell.lowering.emit_llvm.module import emit_llvm

__all__ = ["emit_llvm"]
