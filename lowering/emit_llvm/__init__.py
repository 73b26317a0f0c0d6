"""LLVM IR text from the `llvm` dialect, complete and faithful: ops that it cannot express are errors."""

from stepwell.lowering.emit_llvm.module import emit_llvm

__all__ = ["emit_llvm"]
